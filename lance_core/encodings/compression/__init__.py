"""Compression of bytes, independent of file versions and page layouts."""
