"""The facts about a table as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC

import numpy as np
import numpy.typing as npt

from lance_core.commands import one_line
from lance_core_cli.inspecting.columns import ColumnFacts
from lance_core_cli.inspecting.facts import TableFacts
from lance_core_cli.inspecting.units import byte_text, count_text, counted, share_text

_BLOCKS = " ▁▂▃▄▅▆▇█"
BARS = 24
"""Characters of a chart."""

MAX_COLUMNS = 100
"""Fields that are listed."""

MAX_NAME = 40
"""Characters of a name or type; the rest is cut."""


def words(facts: TableFacts) -> Iterator[str]:
    """What the table is, its versions, fragments, columns and indices, and what to do."""
    made = "" if facts.time is None else f", {facts.time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    yield f"{one_line(facts.uri)}: version {facts.version}{made}, file version {facts.file_version}"
    stored = facts.rows + facts.deleted_rows
    gone = f" ({share_text(facts.deleted_rows / stored)} deleted)" if facts.deleted_rows else ""
    parts, versions = len(facts.fragments), len(facts.versions) + facts.older_versions
    yield (
        f"{counted(facts.rows, 'row')}{gone}, {byte_text(facts.bytes)}, "
        f"{counted(parts, 'fragment')}, {counted(versions, 'version')}"
    )
    yield from (f"could not be read: {one_line(problem)}" for problem in facts.problems)
    yield from _charts(facts)
    yield from _columns(facts)
    if facts.indices:
        yield ""
        yield "indices"
    for index in facts.indices:
        size = "" if index.bytes is None else f", {byte_text(index.bytes)}"
        yield (
            f"  {one_line(index.name)}: {index.type} of {one_line(', '.join(index.columns))}, "
            f"{share_text(index.coverage)} of the rows{size}"
        )
    yield ""
    yield "what to do" if facts.advice else "nothing to do: the table is in good order"
    for item in facts.advice:
        yield f"  {one_line(item.text)}"
        yield f"    {one_line(item.command)}"


def _charts(facts: TableFacts) -> Iterator[str]:
    if len(facts.versions) > 1:
        rows = [version.rows for version in facts.versions]
        first, last = facts.versions[0].version, facts.versions[-1].version
        yield ""
        yield f"rows of versions {first} to {last}     {_sparks(_thinned(rows))}"
    if len(facts.fragments) > 1:
        for what, values, text in (
            ("rows", facts.fragments.live_rows, count_text),
            ("bytes", facts.fragments.bytes, byte_text),
        ):
            counts, _ = np.histogram(values, BARS)
            low, high = text(int(values.min())), text(int(values.max()))
            yield f"{what} of fragments  {low} |{_sparks(counts.tolist())}| {high}"


def _thinned(values: Sequence[int]) -> list[int]:
    chosen = np.linspace(0, len(values) - 1, min(BARS, len(values)), dtype=np.int64)
    picked: npt.NDArray[np.int64] = np.array(values, np.int64)[chosen]
    return [int(value) for value in picked]


def _sparks(values: Sequence[int]) -> str:
    most = max(1, *values)
    # What is not 0 is seen.
    return "".join(_BLOCKS[-(-value * (len(_BLOCKS) - 1) // most)] for value in values)


def _columns(facts: TableFacts) -> Iterator[str]:
    shown = facts.columns[:MAX_COLUMNS]
    total = sum(column.bytes for column in facts.columns if not column.depth)
    lines = [_cells(column, total) for column in shown]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)] if lines else []
    yield ""
    about = "" if facts.sample.is_whole else f", by {facts.sample.fragments} fragments"
    yield f"columns: bytes, compression, encodings{about}"
    for name, type_name, size, share, ratio, encodings in lines:
        yield (
            f"  {name:<{widths[0]}}  {type_name:<{widths[1]}}  {size:>{widths[2]}}  "
            f"{share:>{widths[3]}}  {ratio:>{widths[4]}}  {encodings}"
        ).rstrip()
    if len(facts.columns) > len(shown):
        yield f"  and {count_text(len(facts.columns) - len(shown))} more"


def _cells(column: ColumnFacts, total: int) -> tuple[str, ...]:
    ratio = "" if column.compression is None else f"{column.compression:.1f} x"
    share = share_text(column.bytes / total) if total and not column.depth else ""
    encodings = next(iter(column.encodings), "")
    others = len(column.encodings) - 1
    return (
        _cut("  " * column.depth + one_line(column.name)),
        _cut(one_line(column.type)),
        byte_text(column.bytes),
        share,
        ratio,
        encodings + (f" and {others} other" + "s" * (others > 1) if others > 0 else ""),
    )


def _cut(text: str) -> str:
    return text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 1]}…"
