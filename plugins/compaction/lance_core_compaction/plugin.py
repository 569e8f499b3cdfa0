"""The entry point: the descriptor of the copy of pages, which is imported at first use."""

from __future__ import annotations

from lance_core.hookspecs import RewriterSpec, hookimpl


@hookimpl
def lance_rewriters() -> list[RewriterSpec]:
    """Rewriters of fragments: `binary_copy`."""
    return [
        RewriterSpec(name="binary_copy", factory="lance_core_compaction.binary_copy:BinaryCopy")
    ]
