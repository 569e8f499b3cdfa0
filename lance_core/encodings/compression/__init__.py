"""Compression of bytes and integers, independent of where it is used."""
