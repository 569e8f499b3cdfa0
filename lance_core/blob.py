"""Blobs: columns of large values, read as files, with the names of pylance's ``lance.blob``."""

from lance_core.dataset.blobs.column import BlobColumn
from lance_core.dataset.blobs.file import BlobFile
from lance_core.dataset.blobs.type import (
    DEFAULT_BLOB_BUFFER_SIZE,
    Blob,
    BlobArray,
    BlobType,
    blob_array,
    blob_field,
)

__all__ = [
    "DEFAULT_BLOB_BUFFER_SIZE",
    "Blob",
    "BlobArray",
    "BlobColumn",
    "BlobFile",
    "BlobType",
    "blob_array",
    "blob_field",
]
