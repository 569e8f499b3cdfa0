"""What would make a table faster or smaller, each with the command that does it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_core import LanceDataset
from lance_core.errors import LanceError
from lance_core_cli.inspecting.units import byte_text, count_text, counted

if TYPE_CHECKING:
    from lance_core_cli.inspecting.columns import ColumnFacts
    from lance_core_cli.inspecting.facts import IndexFacts, TableFacts

SMALL_ROWS = 1 << 20
"""Fragments with fewer rows are merged by a compaction with default options."""

SMALL_BYTES = 64 << 20
"""Fragments of rows so large that few of them fill a file are not small."""

MIN_SMALL = 8
"""Small fragments from which on it is worth while to merge them."""

MAX_DELETED = 0.1
"""The share of deleted rows from which on a compaction rewrites a fragment."""

_VECTORS = re.compile(
    r"fixed_size_list<.*: (not null )?(halffloat|float|double)( not null)?>\[\d+\]"
)

MIN_VECTORS = 50_000
"""Vectors from which on a search without an index takes long."""

MIN_REMOVED = 1 << 20
"""Bytes of old versions that are worth a cleanup."""

MANY_VERSIONS = 100
"""Versions from which on a cleanup is useful, whatever it frees."""

MAX_PLANNED = 200_000
"""Most files of all versions for which a cleanup is planned, to learn what it would remove."""


@dataclass(frozen=True)
class Advice:
    """``text``: what is the matter and what helps; ``command``: what to type, "" for nothing."""

    text: str
    command: str


def advice(table: LanceDataset, facts: TableFacts) -> Iterator[Advice]:
    """What to do about the open version of ``table``, the most useful first."""
    name = shlex.quote(facts.uri)
    if facts.problems:
        many = "a part" if len(facts.problems) == 1 else f"{len(facts.problems)} parts"
        yield Advice(
            f"find out what is damaged: {many} of the table could not be read",
            f"lance-core verify {name} --level full",
        )
    yield from _compaction(facts, name)
    for index in facts.indices:
        yield from _index(index, facts, name)
    yield from _vectors(facts, name)
    yield from _cleanup(table, facts, name)


def _compaction(facts: TableFacts, name: str) -> Iterator[Advice]:
    parts, reasons = facts.fragments, []
    small = (parts.live_rows < SMALL_ROWS) & (parts.bytes < SMALL_BYTES)
    count, rows = int(small.sum()), int(parts.live_rows[small].sum())
    if count >= MIN_SMALL and rows <= count // 2 * SMALL_ROWS:
        reasons.append(f"{count_text(count)} small ones can be merged")
    many = parts.deleted > parts.rows * MAX_DELETED
    if many.any():
        gone, held = count_text(int(parts.deleted[many].sum())), count_text(int(many.sum()))
        reasons.append(f"{gone} deleted rows still take place in {held} of them")
    if reasons:
        text = f"compact the fragments: {', and '.join(reasons)}"
        yield Advice(text, f"lance-core compact {name}")


def _index(index: IndexFacts, facts: TableFacts, name: str) -> Iterator[Advice]:
    if index.type == "Unknown":
        yield Advice(
            f"no installed plugin knows the type of index {index.name}: it is not used",
            f"lance-core indices {name}",
        )
        return
    missing = index.of_rows - index.rows
    if missing:
        yield Advice(
            f"update index {index.name}: it lacks {counted(missing, 'row')}, which searches read "
            "one by one",
            f"lance-core index {name} --update {shlex.quote(index.name)}",
        )


def _vectors(facts: TableFacts, name: str) -> Iterator[Advice]:
    indexed = {column for index in facts.indices for column in index.columns}
    for column in facts.columns:
        if _is_vector(column) and column.name not in indexed and facts.rows >= MIN_VECTORS:
            yield Advice(
                f"index column {column.name}: it has {count_text(facts.rows)} vectors, and a "
                "search compares all of them",
                f"lance-core index {name} {shlex.quote(column.name)} --type IVF_SQ",
            )


def _is_vector(column: ColumnFacts) -> bool:
    return column.depth == 0 and _VECTORS.match(column.type) is not None


def _cleanup(table: LanceDataset, facts: TableFacts, name: str) -> Iterator[Advice]:
    count = len(facts.versions) + facts.older_versions
    files = facts.older_versions + sum(version.fragments for version in facts.versions)
    if count <= 1 or facts.older_versions or files > MAX_PLANNED:
        if count >= MANY_VERSIONS:
            yield Advice(
                f"clean up: the table has {count_text(count)} versions, each with files of its own",
                f"lance-core cleanup {name}",
            )
        return
    try:
        stats = table.explain_cleanup_old_versions(error_if_tagged_old_versions=False).stats
    except LanceError:
        return  # damaged versions are among the problems
    if stats.bytes_removed >= MIN_REMOVED:
        yield Advice(
            f"clean up: {byte_text(stats.bytes_removed)} belong to "
            f"{count_text(stats.old_versions)} versions older than two weeks only",
            f"lance-core cleanup {name}",
        )
