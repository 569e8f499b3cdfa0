"""What the manifest stores of an index."""

from __future__ import annotations

from lance_core.table.indices.index_metadata import fragment_bitmap


def test_an_index_covers_fragments_with_ids_of_32_bits() -> None:
    assert list(fragment_bitmap([1 << 32, 7, (1 << 32) - 1])) == [7, (1 << 32) - 1]
