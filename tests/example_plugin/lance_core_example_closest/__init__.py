"""A search and an index for it: ``dataset.to_table(closest={"column": "x", "to": 4.2, "k": 3})``.

The rows whose numbers are closest to one or several others, closest first, with their distances as
``_gap``. This module has the descriptors only.
"""

from __future__ import annotations

from lance_core.hookspecs import IndexTypeSpec, hookimpl
from lance_core.hookspecs.searches import SearchSpec

SEARCH = SearchSpec(name="closest", factory="lance_core_example_closest.closest:Closest")

SPEC = IndexTypeSpec(
    name="sorted_numbers",
    label="SortedNumbers",
    details_url="/example.org.SortedNumbersIndexDetails",
    factory="lance_core_example_closest.closest:SortedNumbers",
)


@hookimpl
def lance_searches() -> list[SearchSpec]:
    """``closest``, an argument of scans."""
    return [SEARCH]


@hookimpl
def lance_index_types() -> list[IndexTypeSpec]:
    """``sorted_numbers``, for ``LanceDataset.create_scalar_index``."""
    return [SPEC]
