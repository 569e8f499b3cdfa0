"""The kernels of numpy and Arrow, which are always there."""
