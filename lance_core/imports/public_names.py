"""The public names of the package that are imported at their first use, with their modules.

A new name also gets a line in ``__all__`` of the package, and in the stub beside it.
"""

from __future__ import annotations

from typing import Any

from lance_core.imports.on_demand import Part, import_module, load

MODULES = {
    "arrow",
    "blob",
    "commit",
    "debug",
    "errors",
    "file",
    "fragment",
    "indices",
    "io",
    "optimize",
    "progress",
    "pydantic",
    "sampler",
    "schema",
    "torch",
    "udf",
    "util",
    "vector",
}

HOMES = {
    "BlobDescriptor": "blob",
    "BlobDescriptorArrayBuilder": "blob",
    "DedicatedBlobWriter": "blob",
    "FtsToken": "lance",
    "IndexProgress": "dataset.values.progress",
    "PackedBlobWriter": "blob",
    "install_as_lance": "imports.as_lance",
    "json_to_schema": "schema",
    "sanitize_ts": "util",
    "schema_to_json": "schema",
    "set_logger": "log",
    "simd_info": "debug",
    "tokenize": "lance",
}
"""The modules of names that `lance_core.dataset` does not have."""


def public(name: str) -> Any:
    """A module of `MODULES`, or the public name of another module."""
    if name in MODULES:
        return import_module(f"lance_core.{name}")
    home = HOMES.get(name, "dataset")
    if home.startswith("dataset"):
        load(Part.TABLES)
    return getattr(import_module(f"lance_core.{home}"), name)
