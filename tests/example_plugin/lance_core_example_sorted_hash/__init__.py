"""An example plugin: an index type for integers, which finds rows by the hashes of their values.

This is the entry module, which says what there is.
"""

from __future__ import annotations

from lance_core.hookspecs import IndexTypeSpec, hookimpl

SPEC = IndexTypeSpec(
    name="sorted_hash",
    label="SortedHash",
    details_url="/example.org.SortedHashIndexDetails",
    factory="lance_core_example_sorted_hash.sorted_hash:SortedHash",
)


@hookimpl
def lance_index_types() -> list[IndexTypeSpec]:
    """``sorted_hash``, for ``LanceDataset.create_scalar_index``."""
    return [SPEC]
