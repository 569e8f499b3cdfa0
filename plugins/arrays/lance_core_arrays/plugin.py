"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from importlib.machinery import PathFinder

from lance_core.hookspecs import ToolSpec, hookimpl

_NAMES = {
    "bfloat16": ("BFloat16", "BFloat16Array", "BFloat16Type", "bfloat16_array", "cast"),
    "pandas_bfloat16": ("PandasBFloat16Array",),
    "images": (
        *("EncodedImageArray", "EncodedImageScalar", "EncodedImageType"),
        *("FixedShapeImageTensorArray", "FixedShapeImageTensorScalar"),
        *("FixedShapeImageTensorType", "ImageArray", "ImageScalar"),
        *("ImageURIArray", "ImageURIScalar", "ImageURIType"),
    ),
    "blob_files": (
        *("BlobDescriptor", "BlobDescriptorArrayBuilder"),
        *("DedicatedBlobWriter", "PackedBlobWriter"),
    ),
    "pydantic_schemas": (
        *("FixedSizeListMixin", "MultiVector", "Vector", "get_extras", "is_nullable"),
        *("from_pydantic_model", "pydantic_to_schema"),
    ),
}

_LIBRARIES = {"pandas_bfloat16": "pandas", "pydantic_schemas": "pydantic"}
"""Modules with classes of libraries that may be missing; then there are no such classes."""


@hookimpl
def lance_tools() -> list[ToolSpec]:
    """Arrays, writers of blobs, and schemas of models."""
    return [
        ToolSpec(f"lance_core_arrays.{module}:{name}")
        for module, names in _NAMES.items()
        if module not in _LIBRARIES or PathFinder.find_spec(_LIBRARIES[module])
        for name in names
    ]
