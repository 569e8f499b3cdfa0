"""The former place of `lance_core_indices` (extra ``indices``), whose names it has until 0.2.

The tools that index types are written with have moved to `lance_core.index`.
"""

from lance_core.imports.forwarding import forward

__path__: list[str] = []
_TOOLS = ("external_sort", "runs", "sort_order", "split_block_filter", "xxhash64")

__getattr__ = forward(
    __name__,
    "lance_core_indices",
    extra="indices",
    renamed={name: f"lance_core.index.{name}" for name in _TOOLS},
)
