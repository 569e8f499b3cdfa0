"""Blobs: columns of large values, read as files, with the names of pylance's ``lance.blob``.

Writers of side files and their descriptors come with the extra ``arrays``.
"""

from typing import Any

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
from lance_core.imports.provided_names import provided

__all__ = [
    "DEFAULT_BLOB_BUFFER_SIZE",
    "Blob",
    "BlobArray",
    "BlobColumn",
    "BlobDescriptor",
    "BlobDescriptorArrayBuilder",
    "BlobFile",
    "BlobType",
    "DedicatedBlobWriter",
    "PackedBlobWriter",
    "blob_array",
    "blob_field",
]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    return provided(
        __name__,
        *("BlobDescriptor", "BlobDescriptorArrayBuilder"),
        *("DedicatedBlobWriter", "PackedBlobWriter"),
    )(name)
