"""Rows for which an expression is something else here than in pylance, and why that is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tests.interop.sql.cases import Case
from tests.interop.sql.evaluate import Outcome, Refusal, key


@dataclass(frozen=True)
class Finding:
    """One row of one expression. Values are those of `evaluate.key`, or a `Refusal`."""

    case: Case
    row: int
    arguments: Mapping[str, Any]
    here: Any
    there: Any
    types: tuple[pa.DataType | None, pa.DataType | None]

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        here, there = self.types
        kinds = "" if here == there or None in self.types else f" [{here} instead of {there}]"
        return f"{self.case.text}{kinds} ({values}): {self.here} instead of {self.there}"[:400]


def findings(case: Case, here: Outcome, there: Outcome, data: pa.Table) -> Iterator[Finding]:
    """A finding for each row that differs, for the first row if only the types differ."""
    if _are_identical(here, there):
        return
    keys = enumerate(zip(here.keys, there.keys, strict=True))
    rows = [row for row, (one, other) in keys if not _same(one, other)]
    if not rows and None not in (here.type, there.type) and here.type != there.type:
        rows = [0]
    for row in rows:
        names = [name for name in data.column_names if name in case.text]
        arguments = {name: key(data[name][row]) for name in names if _is_named(name, case.text)}
        types = (here.type, there.type)
        yield Finding(case, row, arguments, here.keys[row], there.keys[row], types)


def _are_identical(here: Outcome, there: Outcome) -> bool:
    """True if types and bits are the same: a fast answer for most expressions."""
    if here.array is None or there.array is None or here.type != there.type:
        return False
    arrays = here.array, there.array
    if pa.types.is_floating(arrays[0].type):
        bits = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[arrays[0].type.bit_width]
        arrays = arrays[0].view(bits), arrays[1].view(bits)
    return bool(arrays[0].equals(arrays[1]))


def _is_named(name: str, text: str) -> bool:
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not (text[end : end + 1].isalnum() or text[end : end + 1] == "_"):
            return True
        start = text.find(name, end)
    return False


def _same(here: Any, there: Any) -> bool:
    if isinstance(here, Refusal) or isinstance(there, Refusal):
        return isinstance(here, Refusal) and isinstance(there, Refusal)
    return bool(here == there)
