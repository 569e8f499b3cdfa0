"""Compiled kernels for the encodings of lance-core; they replace the numpy kernels."""
