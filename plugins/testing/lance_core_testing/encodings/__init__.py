"""The contracts of encodings, and fields and arrays to encode."""
