"""Compressive encodings of 2.1 and 2.2 files, one module each (message ``CompressiveEncoding``)."""
