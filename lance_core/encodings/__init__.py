"""Decoders and encoders between file buffers and Arrow arrays. They perform no I/O."""
