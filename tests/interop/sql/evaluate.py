"""What an expression is here and in pylance: a value or a refusal for each row."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from lance_core.concurrency.fork_safe import cached_property
from lance_core.dataset.expressions.filters import as_value
from tests.interop.sql import samples

_BATCH = 60
"""Expressions of one scan."""


@dataclass(frozen=True)
class Refusal:
    """The error that a row has instead of a value."""

    text: str
    is_planned: bool = False
    """True if the expression is refused whatever the rows are."""

    def __str__(self) -> str:
        return f"refused: {self.text}"


@dataclass(frozen=True)
class Outcome:
    """The result of an expression: a value or a refusal for each row of a table."""

    type: pa.DataType | None
    array: pa.Array | None
    rows: Sequence[Any] = ()

    @cached_property
    def keys(self) -> list[Any]:
        """A comparable form of each row; it tells 0.0 from -0.0, and one NaN equals another."""
        if self.array is not None:
            return [key(value) for value in self.array]
        return [row if isinstance(row, Refusal) else key(row) for row in self.rows]

    @property
    def is_refused(self) -> bool:
        """True if no row has a value."""
        return self.type is None


def key(value: pa.Scalar) -> Any:
    """The exact value of a scalar in a form that Python compares."""
    if not value.is_valid:
        return None
    kind = value.type
    if pa.types.is_dictionary(kind):
        return key(value.value)
    if pa.types.is_floating(kind):
        number = float(value.as_py())
        return ("NaN", struct.pack("<d", number)[7] >> 7) if math.isnan(number) else repr(number)
    if pa.types.is_temporal(kind):
        return value.value
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [key(item) for item in value.values]
    if pa.types.is_struct(kind):
        return [(name, key(item)) for name, item in value.items()]
    if pa.types.is_decimal(kind):
        return value.as_py().as_tuple()
    return value.as_py()


Values = Callable[[Sequence[str], Sequence[int]], list[pa.Array]]
"""The values of expressions for the rows with these numbers; an error if one has none."""


def outcomes(
    values: Values, texts: Sequence[str], num_rows: int, others: Mapping[str, Outcome] | None = None
) -> dict[str, Outcome]:
    """The outcome of each expression, of as many of them in one call as possible.

    ``others``: outcomes whose refusals are likely to be refusals here.
    """
    run = _Run(values, num_rows, others or {})
    for start in range(0, len(texts), _BATCH):
        run.evaluate(texts[start : start + _BATCH])
    return run.result


class _Run:
    def __init__(self, values: Values, num_rows: int, others: Mapping[str, Outcome]) -> None:
        self._values = values
        self._rows = range(num_rows)
        self._others = others
        self.result: dict[str, Outcome] = {}

    def evaluate(self, texts: Sequence[str]) -> None:
        """Add the outcomes of ``texts`` to the result."""
        arrays = self._tried(texts, self._rows)
        if isinstance(arrays, list):
            both = zip(texts, arrays, strict=True)
            self.result.update((text, Outcome(array.type, array)) for text, array in both)
        elif len(texts) == 1:
            self.result[texts[0]] = self._row_by_row(texts[0])
        else:
            self.evaluate(texts[: len(texts) // 2])
            self.evaluate(texts[len(texts) // 2 :])

    def _tried(self, texts: Sequence[str], rows: Sequence[int]) -> list[pa.Array] | str:
        """The values, or the text of the error."""
        try:
            return self._values(texts, rows)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic of Rust is no Exception
            return f"{type(error).__name__}: {str(error).splitlines()[0][:300]}"

    def _row_by_row(self, text: str) -> Outcome:
        empty = self._tried([text], [])
        if isinstance(empty, str):
            return Outcome(None, None, [Refusal(empty, is_planned=True)] * len(self._rows))
        found: dict[int, Any] = {}
        other = self._others.get(text)
        keys = [None] * len(self._rows) if other is None else other.keys
        for is_refused in (False, True):
            rows = [row for row in self._rows if isinstance(keys[row], Refusal) is is_refused]
            self._bisect(text, rows, found)
        return Outcome(empty[0].type, None, [found[row] for row in self._rows])

    def _bisect(self, text: str, rows: Sequence[int], to: dict[int, Any]) -> None:
        if not rows:
            return
        arrays = self._tried([text], rows)
        if isinstance(arrays, list):
            to.update(zip(rows, arrays[0], strict=True))
        elif len(rows) == 1:
            to[rows[0]] = Refusal(arrays)
        else:
            self._bisect(text, rows[: len(rows) // 2], to)
            self._bisect(text, rows[len(rows) // 2 :], to)


class Tables:
    """The sample tables, here in memory and as tables of pylance."""

    def __init__(self, folder: Path) -> None:
        self.samples: Mapping[bool, pa.Table] = {False: samples.singles(), True: samples.pairs()}
        self.theirs = {
            is_pairs: lance.write_dataset(
                table, folder / f"pairs {is_pairs}.lance", data_storage_version="2.1"
            )
            for is_pairs, table in self.samples.items()
        }

    def here(self, texts: Sequence[str], is_pairs: bool) -> dict[str, Outcome]:
        """Our outcomes."""
        data = self.samples[is_pairs]
        planned = functools.cache(lambda text: as_value(text, data.schema))

        def values(texts: Sequence[str], rows: Sequence[int]) -> list[pa.Array]:
            whole = len(rows) == data.num_rows
            part = data if whole else data.take(pa.array(rows, pa.int64()))
            return [pa.concat_arrays(planned(text).evaluate(part).chunks) for text in texts]

        return outcomes(values, texts, data.num_rows)

    def there(
        self, texts: Sequence[str], is_pairs: bool, ours: Mapping[str, Outcome]
    ) -> dict[str, Outcome]:
        """pylance's outcomes."""
        dataset, num_rows = self.theirs[is_pairs], self.samples[is_pairs].num_rows

        def values(texts: Sequence[str], rows: Sequence[int]) -> list[pa.Array]:
            # pylance needs a column beside expressions that name none.
            columns = {"row": "row", **{f"v{i}": text for i, text in enumerate(texts)}}
            condition = f"row IN ({', '.join(map(str, rows))})" if rows else "row < 0"
            whole = len(rows) == num_rows
            found = dataset.to_table(columns=columns, filter=None if whole else condition)
            return [column.combine_chunks() for column in found.columns[1:]]

        return outcomes(values, texts, num_rows, ours)
