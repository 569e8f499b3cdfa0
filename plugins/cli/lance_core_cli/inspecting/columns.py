"""The columns of a table: bytes, pages and encodings, by a sample of its data files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lance_core import LanceDataset
from lance_core.errors import LanceError, UnsupportedFeatureError
from lance_core_cli.fields import nested
from lance_core_cli.inspecting.encodings import encoding_label

if TYPE_CHECKING:
    from lance_core.maintenance import Fragment

MAX_FRAGMENTS = 48
"""Fragments whose files are looked at; the columns of others are taken to be like theirs."""

MAX_FIELD_READS = 20_000
"""Fields of all these fragments; of a table with very many columns, fewer fragments are read."""

MAX_ROWS = 1000
"""Rows that are read to learn how many bytes values take in memory."""


@dataclass
class ColumnFacts:
    """A field; ``depth`` counts the fields around it.

    ``bytes``: of its pages and those of fields inside of it, an estimate if not all fragments are
    in the sample. ``encodings``: the
    share of its pages with each encoding. ``memory_bytes``: what all values, those of deleted rows,
    too, would take in Arrow's memory, an estimate; only of columns, None if no row could be read.
    """

    id: int
    name: str
    depth: int
    type: str
    nullable: bool
    bytes: int = 0
    pages: int = 0
    encodings: dict[str, float] = field(default_factory=dict)
    memory_bytes: int | None = None

    @property
    def compression(self) -> float | None:
        """How often the stored bytes go into those in memory; None if one is unknown."""
        return self.memory_bytes / self.bytes if self.memory_bytes and self.bytes else None


@dataclass(frozen=True)
class ColumnSample:
    """What the facts about columns are from: so many of all fragments, and rows of them."""

    fragments: int
    of_fragments: int
    rows_in_memory: int

    @property
    def is_whole(self) -> bool:
        """True if all fragments were looked at: bytes and pages are exact."""
        return self.fragments == self.of_fragments


class _Sums:
    def __init__(self) -> None:
        self.bytes = self.pages = self.rows = 0
        self.encodings: Counter[str] = Counter()


def sampled_columns(
    table: LanceDataset, problems: list[str]
) -> tuple[list[ColumnFacts], ColumnSample]:
    """All fields, parents first. A file that cannot be read is added to ``problems``."""
    fragments = table.snapshot.manifest.fragments
    count = len(fragments)
    sums = {field.id: _Sums() for field in table.snapshot.schema.walk()}
    most = max(1, min(MAX_FRAGMENTS, MAX_FIELD_READS // max(1, len(sums))))
    chosen = np.unique(np.linspace(0, max(0, count - 1), min(most, count), dtype=np.int64))
    rows = 0
    for position in map(int, chosen):
        fragment = fragments[position]
        try:
            part = table.snapshot.physical_rows(fragment)
            _add(table, fragment, part, sums)
            rows += part
        except LanceError as error:
            problems.append(f"fragment {fragment.id}: {error}")
    total = int(fragments.counts.physical_rows.sum())
    scale = total / rows if rows and total else 1.0
    columns = list(_columns(table, sums, scale, count / max(1, len(chosen))))
    _add_parts(columns)
    read = _add_memory(table, columns, total, problems)
    return columns, ColumnSample(len(chosen), count, read)


def _add(table: LanceDataset, fragment: Fragment, rows: int, sums: dict[int, _Sums]) -> None:
    fields = {field.id: field for field in table.snapshot.schema.walk()}
    for file in fragment.files:
        reader = table.snapshot.reader(file)
        for id_, column in file.columns().items():
            if id_ not in fields:
                continue
            entry = sums[id_]
            entry.bytes += reader.field_bytes(fields[id_], column)
            entry.rows += rows
            try:
                pages = reader.metadata.column(column).pages
            except UnsupportedFeatureError:  # files of 0.1 have no encodings of pages
                continue
            entry.pages += len(pages)
            entry.encodings.update(encoding_label(page.encoding) for page in pages)


def _columns(
    table: LanceDataset, sums: dict[int, _Sums], of_rows: float, of_files: float
) -> Iterator[ColumnFacts]:
    """``of_rows``, ``of_files``: how many times those of the sample the table has."""
    for depth, stored in nested(table.lance_schema.fields()):
        entry, arrow = sums[stored.id()], stored.to_arrow()
        has_parts = len(stored.children()) > 0
        pages = max(1, entry.encodings.total())
        yield ColumnFacts(
            stored.id(),
            stored.name(),
            depth,
            str(arrow.type).partition("<")[0] if has_parts else str(arrow.type),
            arrow.nullable,
            round(entry.bytes * of_rows),
            round(entry.pages * of_files),
            {name: round(n / pages, 4) for name, n in entry.encodings.most_common()},
        )


def _add_memory(
    table: LanceDataset, columns: list[ColumnFacts], total: int, problems: list[str]
) -> int:
    """Set ``memory_bytes`` for ``total`` rows; returns the number of rows that were read."""
    try:
        first: Any = table.to_table(limit=MAX_ROWS, blob_handling="blobs_descriptions")
    except LanceError as error:
        problems.append(f"rows: {error}")
        return 0
    if not first.num_rows:
        return 0
    names = set(first.column_names)
    for column in columns:
        if column.depth == 0 and column.name in names:
            size = first.column(column.name).nbytes
            column.memory_bytes = round(size * total / first.num_rows)
    return int(first.num_rows)


def _add_parts(columns: list[ColumnFacts]) -> None:
    """Add the bytes of all fields to those around them."""
    for position in reversed(range(len(columns))):
        depth = columns[position].depth
        for above in reversed(columns[:position]):
            if above.depth < depth:
                above.bytes += columns[position].bytes
                break
