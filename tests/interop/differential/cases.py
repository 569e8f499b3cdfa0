"""A case: a table and how it is written, changed and read; all drawn from one number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tests.interop.differential.arrays import compact, draw_column
from tests.interop.differential.fields import draw_schema, pick
from tests.interop.differential.queries import Query, draw_queries

SIZES = (0, 1, 2, 5, 20, 90, 90, 300, 300, 1000, 5000)


Keys = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Condition:
    """A condition on ``key``, as SQL and as a function that says of each row whether it passes."""

    text: str
    passes: Callable[[Keys], npt.NDArray[np.bool_]] = field(repr=False)

    def rows(self, data: pa.Table, passing: bool) -> pa.Table:
        """The rows of ``data`` that pass, or the others."""
        keep = self.passes(data["key"].to_numpy()) == passing
        ends = np.flatnonzero(np.diff(np.concatenate([[False], keep, [False]])))
        spans = ends.reshape(-1, 2).tolist()
        # Kernels do not filter chunks of all types.
        parts = [data.slice(start, end - start) for start, end in spans]
        return pa.concat_tables(parts) if parts else data.slice(0, 0)


ADDED = 1_000_000
"""What updates add to keys."""


@dataclass(frozen=True)
class Case:
    """``writes`` are made one after the other, the first one creates the table.

    ``deletes`` follow, an ``update`` of the keys of some rows, which move with all their columns,
    and a ``compaction`` in this mode. ``crossed``: each library makes all changes after the first
    write to the table that the other one created.
    """

    seed: int
    version: str
    writes: tuple[pa.Table, ...]
    options: dict[str, Any]
    deletes: tuple[Condition, ...]
    update: Condition | None
    compaction: str | None
    as_reader: bool
    crossed: bool
    queries: tuple[Query, ...] = field(repr=False)

    @property
    def schema(self) -> pa.Schema:
        return self.writes[0].schema

    def rows(self) -> pa.Table:
        """What the table holds in the end."""
        data = pa.Table.from_batches(
            [batch for data in self.writes for batch in data.to_batches()], self.schema
        )
        for delete in self.deletes:
            data = delete.rows(data, passing=False)
        if self.update is not None:
            moved = self.update.rows(data, passing=True)
            place, keys = data.schema.get_field_index("key"), moved["key"].to_numpy() + ADDED
            moved = moved.set_column(place, data.schema.field("key"), pa.array(keys))
            data = pa.concat_tables([self.update.rows(data, passing=False), moved])
        return data


class Shape(NamedTuple):
    """The form of a table. ``parts``: fragments with values of their own, 0 for a few of any size.

    Each field but ``key`` has ``copies``.
    """

    parts: int
    copies: int
    compaction: str | None


def _draw_shape(seed: int) -> Shape:
    """With numbers of its own, so that the rest of a case does not depend on it."""
    chance = np.random.default_rng([seed, 2])
    parts = pick(chance, (0, 0, 0, 0, 12, 12, 40))
    copies = pick(chance, (1, 1, 1, 1, 1, 1, 12 if parts < 40 else 3))
    modes = (None, None, "reencode", "try_binary_copy", "try_binary_copy")
    return Shape(parts, copies, pick(chance, modes))


def draw_case(seed: int) -> Case:
    chance, shape = np.random.default_rng(seed), _draw_shape(seed)
    version = pick(chance, ("2.0", "2.1", "2.2", "2.2"))
    schema = _with_copies(draw_schema(chance, version), shape.copies)
    writes, first = [], 0
    for _ in range(pick(chance, (1, 1, 1, 2, 3))):
        rows = int(chance.integers(pick(chance, SIZES) + 1))
        writes.append(_draw_table(chance, schema, rows, first, shape.parts))
        first += rows
    options: dict[str, Any] = {"data_storage_version": version}
    if chance.random() < 0.4:
        options["max_rows_per_file"] = max(first // int(chance.integers(1, 6)), 2)
    if shape.parts:
        options["max_rows_per_file"] = max(writes[0].num_rows // shape.parts, 1)
    if chance.random() < 0.3:
        options["max_rows_per_group"] = int(chance.integers(1, 1100))
    if chance.random() < 0.2:
        options["enable_stable_row_ids"] = True
    deletes = _draw_deletes(chance, first) if "key" in schema.names else ()
    update = _draw_update(seed, first) if "key" in schema.names else None
    flags = chance.random(2)
    queries = tuple(draw_queries(chance, pa.concat_tables(writes)))
    return Case(
        seed,
        version,
        tuple(writes),
        options,
        deletes,
        update,
        shape.compaction,
        as_reader=bool(flags[0] < 0.3),
        crossed=bool(flags[1] < 0.3),
        queries=queries,
    )


def _with_copies(schema: pa.Schema, copies: int) -> pa.Schema:
    """All fields, and others like them."""
    fields = list(schema)
    for number in range(1, copies):
        others = (one for one in schema if one.name != "key")
        fields += [one.with_name(f"{one.name} {number}") for one in others]
    return pa.schema(fields, schema.metadata)


def _draw_table(
    chance: np.random.Generator, schema: pa.Schema, rows: int, first: int, parts: int
) -> pa.Table:
    """``rows`` in pieces with values of their own, some of them cut further.

    There are ``parts`` of equal length, or up to three if it is 0.
    """
    cuts = np.sort(chance.integers(0, rows + 1, int(chance.integers(0, 3))))
    if parts:
        cuts = np.arange(max(rows // parts, 1), rows, max(rows // parts, 1))
    lengths = np.diff(np.concatenate([[0], cuts, [rows]])).tolist()
    batches = []
    for length in lengths:
        arrays = []
        for column in schema:
            if column.name == "key":
                arrays.append(pa.array(np.arange(first, first + length)))
            else:
                arrays.append(draw_column(chance, column, length))
        first += length
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        half = length // 2 if chance.random() < 0.3 else 0
        batches += [batch.slice(0, half), batch.slice(half)] if half else [batch]
    return pa.Table.from_batches(batches, schema)


def _draw_deletes(chance: np.random.Generator, rows: int) -> tuple[Condition, ...]:
    kind = chance.random()
    if kind < 0.6:
        return ()
    some = chance.integers(0, rows + 2, 5).tolist()
    step, first, last = int(chance.integers(2, 9)), rows // 3, int(chance.integers(rows + 1))
    listed = ", ".join(str(key) for key in some)
    deletes = (
        Condition(f"key % {step} = 1", lambda keys: keys % step == 1),
        Condition(f"key IN ({listed})", lambda keys: np.isin(keys, some)),
        Condition(f"key >= {first} AND key < {last}", lambda keys: (keys >= first) & (keys < last)),
        Condition(f"key < {last}", lambda keys: keys < last),
        Condition("key >= 0", lambda keys: keys >= 0),
    )
    return tuple(pick(chance, deletes) for _ in range(1 if kind < 0.9 else 2))


def _draw_update(seed: int, rows: int) -> Condition | None:
    """With numbers of its own, so that the rest of a case does not depend on it."""
    chance = np.random.default_rng([seed, 1])
    if chance.random() < 0.6:
        return None
    step, first = int(chance.integers(1, 9)), int(chance.integers(rows + 1))
    return Condition(
        f"key % {step} = 0 AND key >= {first}", lambda keys: (keys % step == 0) & (keys >= first)
    )


def copied(data: pa.Table) -> pa.Table:
    """The same rows in arrays that start at offset 0."""
    batches = [
        pa.RecordBatch.from_arrays([compact(array) for array in batch.columns], schema=data.schema)
        for batch in data.to_batches()
    ]
    return pa.Table.from_batches(batches, data.schema)
