"""Nested fields that are encoded together have the same bytes as fields encoded one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap

import numpy as np
import pyarrow as pa
import pytest

from lance_core.datafile.fast import waiting_columns
from lance_core.encodings.v2_1.fast import leaf_columns
from lance_core.encodings.v2_1.write.leaf_encoder import LeafEncoder
from lance_core.encodings.version import FileVersion
from tests.examples import share
from tests.unit.encodings.v2_1.fast.test_small_columns import _written

Arrays = Callable[[np.random.Generator, int], pa.Array]
"""Makes arrays of one type of a number of rows."""

ROWS = [1, 3, 60, 150, 600, 1024, 1500, 3000]


class _Types:
    """Random types, with a share of nulls, and with or without empty lists."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._nulls = float(random.choice([0, 0, 0.1, 0.5, 0.01, 1.0]))
        self._least = int(random.integers(0, 2))

    def arrays(self, depth: int) -> Arrays:
        makers = [self._integers, self._texts, self._flags, self._vectors, self._runs]
        if depth:
            makers += [lambda: self._lists(depth)] * 2 + [lambda: self._structs(depth)]
        return makers[self._random.integers(len(makers))]()

    def _mask(self, random: np.random.Generator, rows: int) -> np.ndarray | None:
        return random.random(rows) < self._nulls if self._nulls else None

    def _integers(self) -> Arrays:
        most = 1 << int(self._random.integers(1, 60))
        return lambda r, rows: pa.array(r.integers(0, most, rows), mask=self._mask(r, rows))

    def _texts(self) -> Arrays:
        most = 10 ** int(self._random.integers(0, 6))
        return lambda r, rows: pa.array(
            [f"t{number}" for number in r.integers(0, most, rows)],
            pa.string(),
            mask=self._mask(r, rows),
        )

    def _flags(self) -> Arrays:
        return lambda r, rows: pa.array(r.random(rows) < 0.5, mask=self._mask(r, rows))

    def _vectors(self) -> Arrays:
        return lambda r, rows: pa.FixedSizeListArray.from_arrays(
            pa.array(r.random(4 * rows, np.float32)), 4
        )

    def _runs(self) -> Arrays:
        return lambda r, rows: pa.array(
            np.repeat(r.integers(0, 9, rows // 20 + 1), 20)[:rows], mask=self._mask(r, rows)
        )

    def _lists(self, depth: int) -> Arrays:
        items = self.arrays(depth - 1)
        classes = [pa.ListArray, pa.LargeListArray]
        chosen, offset_type = classes[depth % 2], [pa.int32(), pa.int64()][depth % 2]

        def made(random: np.random.Generator, rows: int) -> pa.Array:
            offsets = np.append(0, np.cumsum(random.integers(self._least, 5, rows)))
            mask = self._mask(random, rows)
            return chosen.from_arrays(
                pa.array(offsets, offset_type),
                items(random, int(offsets[-1])),
                mask=None if mask is None else pa.array(mask),
            )

        return made

    def _structs(self, depth: int) -> Arrays:
        parts = [self.arrays(depth - 1) for _ in range(self._random.integers(1, 4))]

        def made(random: np.random.Generator, rows: int) -> pa.Array:
            mask = self._mask(random, rows)
            return pa.StructArray.from_arrays(
                [part(random, rows) for part in parts],
                [f"m{number}" for number in range(len(parts))],
                mask=None if mask is None else pa.array(mask),
            )

        return made


def _table(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    rows = ROWS[seed % len(ROWS)]
    columns = {}
    for group in range(4):
        arrays = _Types(random).arrays(int(random.integers(0, 4)))
        columns |= {f"{group} {number}": arrays(random, rows) for number in range(5)}
    table = pa.table(columns)
    return table.slice(3, rows - 6) if rows > 10 and seed % 3 == 0 else table


CASES = [(seed, version) for seed in range(64) for version in (FileVersion.V2_1, FileVersion.V2_2)]


@pytest.mark.parametrize(("seed", "version"), share(CASES, 8, turn=3))
def test_bytes_of_nested_fields_do_not_depend_on_the_group(
    monkeypatch: pytest.MonkeyPatch, seed: int, version: FileVersion
) -> None:
    table = _table(seed)
    together = _written(table, version)
    monkeypatch.setattr(waiting_columns, "MIN_SHARED", 1 << 30)
    assert together == _written(table, version)


def _nested(random: np.random.Generator, number: int, rows: int) -> pa.Array:
    offsets = np.append(0, np.cumsum(random.integers(0, 5, rows))).astype(np.int32)
    if number % 3 == 0:
        texts = [f"{value:06}" for value in random.integers(0, 10**6, int(offsets[-1]))]
        return pa.ListArray.from_arrays(offsets, pa.array(texts))
    numbers = pa.array(random.integers(0, 1 << 20, int(offsets[-1])))
    lists = pa.ListArray.from_arrays(offsets, numbers)
    if number % 3 == 1:
        return lists
    return pa.StructArray.from_arrays([lists, pa.array(random.random(rows))], ["a", "b"])


@pytest.mark.fast_path
def test_nested_fields_are_split_once_for_all_of_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    table = pa.table({f"c{number}": _nested(random, number, 700) for number in range(30)})
    splits = []
    shred = leaf_columns.shred

    def counted(*arguments: object) -> object:
        splits.append(arguments)
        return shred(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(leaf_columns, "shred", counted)
    monkeypatch.setattr(LeafEncoder, "flush", None)
    assert _written(table, FileVersion.V2_2)
    assert len(splits) == 3


def test_packed_structs_and_fields_with_options_are_encoded_alone() -> None:
    struct = pa.StructArray.from_arrays([pa.array([1, 2]), pa.array([3, 4])], ["a", "b"])
    marks = [{"packed": "true"}, {"lance-encoding:compression": "zstd"}]
    fields = list(
        starmap(
            lambda number, own: pa.field(f"c{number}", struct.type, metadata=own),
            enumerate([*marks * 4, *[None] * 6]),
        )
    )
    table = pa.table([struct] * len(fields), schema=pa.schema(fields))
    together = _written(table, FileVersion.V2_2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting_columns, "MIN_SHARED", 1 << 30)
        assert together == _written(table, FileVersion.V2_2)
