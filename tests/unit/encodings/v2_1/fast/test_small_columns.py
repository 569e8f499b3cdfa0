"""Columns that are encoded together have the same bytes as columns that are encoded one by one."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.datafile import FileWriter
from lance_core.datafile.fast import waiting_columns
from lance_core.datafile.file_output import FileOptions
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_1.fast import group_encoder, small_columns
from lance_core.encodings.v2_1.levels.shred import Leaf
from lance_core.encodings.v2_1.write.leaf_encoder import LeafEncoder
from lance_core.encodings.version import FileVersion
from lance_core.plugins import get_manager
from lance_core.schema import Schema
from lance_core.store.memory import MemoryStore, Objects
from tests.examples import share

PATH = "x.lance"
OTHER_TYPES = [
    *(pa.bool_(), pa.decimal128(20, 0), pa.decimal256(50, 0), pa.binary(3), pa.binary(16)),
    *(pa.binary(300), pa.int64(), pa.int16()),
]
TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]


def _nulls(random: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Masks of nulls at random, in two patterns of levels, and of all but one value."""
    return {
        "some": random.random(rows) < 0.1,
        "half": random.random(rows) < 0.5,
        "few": np.arange(rows) % 100 == 7,
        "most": np.arange(rows) != rows // 2,
        "runs": np.arange(rows) // 400 % 2 == 1,
        "every": np.ones(rows, np.bool_),
    }


def _texts(random: np.random.Generator, rows: int) -> dict[str, list[str | None]]:
    few = [f"{value:03}" for value in random.integers(0, 20, rows)]
    different = [f"text {value}" for value in range(rows)]
    found: dict[str, list[str | None]] = {
        "few": [*few],
        "different": [*different],
        "short": [text[-3:] for text in different],
        "one": ["same"] * rows,
        "empty": [""] * rows,
        "long": [text * 20 if number % 9 else text * 100 for number, text in enumerate(few)],
    }
    for name, nulls in _nulls(random, rows).items():
        for kind, texts in (("few", few), ("different", different), ("one", ["same"] * rows)):
            pairs = zip(texts, nulls.tolist(), strict=True)
            found[f"{name} null {kind}"] = [None if null else text for text, null in pairs]
    return found


def _other_types(random: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """Values that are not integers: of one bit, of more than 64, and without any."""
    numbers = [Decimal(value) for value in range(rows)]
    long = np.repeat(random.integers(0, 100, rows // 300 + 1), 300)[:rows].tolist()
    rare = np.where(np.arange(rows) % 100 == 3, random.integers(1, 9), 0)
    kinds: dict[str, list[Any]] = {
        "bool random": (random.random(rows) < 0.3).tolist(),
        "bool same": [True] * rows,
        "bool runs": [value % 2 == 0 for value in long],
        "decimal128(20, 0) different": numbers,
        "decimal128(20, 0) few": [numbers[value % min(rows, 20)] for value in range(rows)],
        "decimal128(20, 0) same": [Decimal(7)] * rows,
        "decimal256(50, 0) different": numbers,
        "decimal256(50, 0) same": [Decimal(7)] * rows,
        "fixed_size_binary[3] random": [random.bytes(3) for _ in range(rows)],
        "fixed_size_binary[16] few": [bytes([value % 20]) * 16 for value in range(rows)],
        "fixed_size_binary[300] random": [random.bytes(300) for _ in range(rows)],
        "fixed_size_binary[300] same": [b"x" * 300] * rows,
        "int64 runs": long,
        "int16 mostly zero": rare.tolist(),
    }
    columns: dict[str, pa.Array] = {}
    for name, values in kinds.items():
        (type_,) = (type_ for type_ in OTHER_TYPES if name.startswith(f"{type_} "))
        columns[name] = pa.array(values, type_)
        columns[f"again {name}"] = pa.array(values[::-1], type_)
        for kind, nulls in _nulls(random, rows).items():
            pairs = zip(values, nulls.tolist(), strict=True)
            own = [None if null else value for value, null in pairs]
            columns[f"{kind} {name}"] = pa.array(own, type_)
    return columns | {f"nothing {number}": pa.nulls(rows) for number in range(3)}


def _table(rows: int) -> pa.Table:
    random = np.random.default_rng(rows)
    columns = {}
    for type_ in TYPES:
        kinds = [
            random.integers(0, 100, rows),
            random.integers(0, 20, rows),
            np.repeat(random.integers(0, 100, rows // 7 + 1), 7)[:rows],
            np.full(rows, 3),
            np.arange(rows) % 120,
        ]
        for number, values in enumerate(kinds):
            columns[f"{type_}.{number}"] = pa.array(values.astype(type_))
            columns[f"again {type_}.{number}"] = pa.array(values[::-1].astype(type_))
            for name, nulls in _nulls(random, rows).items():
                columns[f"{name} {type_}.{number}"] = pa.array(values.astype(type_), mask=nulls)
    columns |= _other_types(random, rows)
    columns["time"] = pa.array(random.integers(0, 1 << 40, rows), pa.timestamp("us"))
    columns["wide"] = pa.array(random.integers(0, 1 << 60, rows))
    # Dictionaries of more values than one packed chunk has, and of values that do not pack.
    for count in (1024, 1025, 1500):
        columns[f"many {count}"] = pa.array(np.arange(rows) % count * 7919)
        columns[f"random {count}"] = pa.array(random.random(count)[np.arange(rows) % count])
    columns["null"] = pa.nulls(rows, pa.int32())
    for name, texts in _texts(random, rows).items():
        for type_ in (pa.string(), pa.large_string(), pa.binary()):
            columns[f"{name} {type_}"] = pa.array(texts, type_)
            columns[f"again {name} {type_}"] = pa.array(texts[::-1], type_)
    columns["flag"] = pa.array(np.arange(rows) % 3 == 0)
    columns["list"] = pa.array([[value] for value in range(rows)])
    table = pa.table({name.replace(".", "_"): values for name, values in columns.items()})
    marked = pa.field("marked", pa.int64(), metadata={"lance-encoding:compression": "none"})
    return table.append_column(marked, pa.array(np.arange(rows)))


def _written(table: pa.Table, version: FileVersion, **options: Any) -> bytes:
    store = MemoryStore(Objects())
    registry = get_manager().encodings
    schema = Schema.from_arrow(table.schema)
    target = store.open_writer(PATH)
    written = FileWriter(target, schema, FileOptions(version, **options), registry=registry)
    for batch in table.to_batches(max_chunksize=1000):
        written.write_batch(batch)
    written.finish()
    return store.get(PATH).to_pybytes()


ROWS = [1, 60, 99, 100, 1000, 1024, 1025, 2500, 9000]


@pytest.mark.parametrize(
    ("rows", "version"),
    [
        *((rows, FileVersion.V2_2) for rows in ROWS),
        *((rows, FileVersion.V2_1) for rows in share(ROWS, 2, turn=1)),
    ],
)
def test_bytes_do_not_depend_on_the_group(
    monkeypatch: pytest.MonkeyPatch, version: FileVersion, rows: int
) -> None:
    table = _table(rows)
    together = _written(table, version)
    monkeypatch.setattr(waiting_columns, "MIN_SHARED", 1 << 30)
    assert together == _written(table, version)


@pytest.mark.parametrize("version", [FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2])
def test_arrays_that_stay_in_memory_are_not_copied(
    monkeypatch: pytest.MonkeyPatch, version: FileVersion
) -> None:
    table = _table(1500).slice(3)
    expected = _written(table, version)

    def refused(*_: object) -> None:
        raise AssertionError("a copy")

    monkeypatch.setattr("lance_core.encodings.v2_1.write.leaf_encoder.copied", refused)
    monkeypatch.setattr("lance_core.encodings.v2_0.field_encoder.copied", refused)
    assert _written(table, version, batches_stay=True) == expected


def test_limits_of_pages_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _table(300)
    together = _written(table, FileVersion.V2_1, max_page_bytes=900)
    monkeypatch.setattr(waiting_columns, "MIN_SHARED", 1 << 30)
    assert together == _written(table, FileVersion.V2_1, max_page_bytes=900)


@pytest.mark.fast_path
def test_numbers_of_one_type_are_encoded_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    table = pa.table({f"c{n}": pa.array(random.integers(0, 99, 900)) for n in range(200)})
    passes, alone = [], []
    stored, flush = group_encoder.number_values, LeafEncoder.flush

    def counted(*arguments: object) -> object:
        passes.append(arguments)
        return stored(*arguments)  # type: ignore[arg-type]

    def flushed(encoder: LeafEncoder) -> object:
        alone.append(encoder)
        return flush(encoder)

    monkeypatch.setattr(group_encoder, "number_values", counted)
    monkeypatch.setattr(LeafEncoder, "flush", flushed)
    _written(table, FileVersion.V2_1)
    assert len(passes) == 1
    monkeypatch.setattr(small_columns, "WINDOW_BYTES", 100 * 8 * 900)
    _written(table, FileVersion.V2_1)
    assert len(passes) == 1 + 3
    assert not alone


@pytest.mark.fast_path
def test_columns_that_become_large_leave_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {f"c{n}": pa.array(np.arange(9000) % (n + 2), pa.int32()) for n in range(40)}
    columns["c3"] = pa.array([str(n) * (n // 500) for n in range(9000)])
    columns["c7"] = pa.array([[n] for n in range(9000)])
    table = pa.table(columns)
    alone = []
    write = LeafEncoder.write

    def written(encoder: LeafEncoder, leaf: Leaf, row: int) -> Iterator[EncodedPage]:
        alone.append(encoder)
        return write(encoder, leaf, row)

    monkeypatch.setattr(LeafEncoder, "write", written)
    together = _written(table, FileVersion.V2_2)
    assert len(set(alone)) == 2
    monkeypatch.setattr(waiting_columns, "MIN_SHARED", 1 << 30)
    assert together == _written(table, FileVersion.V2_2)


@pytest.mark.parametrize("rows", [900, 9000])
def test_columns_of_different_texts_are_not_searched_for_items(
    monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    columns = {f"c{n}": pa.array([f"{n} of text {row}" for row in range(rows)]) for n in range(40)}
    monkeypatch.setattr(group_encoder, "stored_dictionaries", None)
    assert _written(pa.table(columns).slice(0, min(rows, 4000)), FileVersion.V2_2)


@pytest.mark.fast_path
def test_all_kinds_of_small_columns_are_encoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    columns = {}
    for number in range(10):
        columns[f"dictionary {number}"] = pa.array(random.integers(0, 9, 900))
        columns[f"null {number}"] = pa.array(random.random(900), mask=random.random(900) < 0.1)
        words = [f"{value:05}" for value in random.integers(0, 9, 900)]
        columns[f"words {number}"] = pa.array(words)
        texts = [f"{value:05}" for value in random.integers(0, 9999, 900)]
        columns[f"texts {number}"] = pa.array(texts)
        columns[f"null texts {number}"] = pa.array(texts, mask=random.random(900) < 0.1)
    columns |= {
        name: column for name, column in _other_types(random, 900).items() if "[300]" not in name
    }
    monkeypatch.setattr(LeafEncoder, "flush", None)
    assert _written(pa.table(columns), FileVersion.V2_2)
