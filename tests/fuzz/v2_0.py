"""Files of version 2.0 that are damaged."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from functools import partial

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, ColumnEncoding
from lance_core.datafile import FileWriter
from lance_core.datafile.column_map import column_of
from lance_core.datafile.file_output import FileOptions
from lance_core.encodings.version import FileVersion
from lance_core.plugins import get_manager
from lance_core.schema import Schema
from lance_core.store.memory import MemoryStore, Objects
from lance_core_testing.mutants import Mutant, Mutation, mutants
from tests.fuzz.container import (
    Parsed,
    change_any,
    change_column,
    change_schema,
    change_table,
    swap_columns,
)
from tests.fuzz.judge import Verdict, judged, outcome
from tests.fuzz.unsealed import without_checksums
from tests.golden.reading import opened

PATH = "x.lance"


def flat(rows: int) -> pa.Table:
    numbers = np.arange(rows)
    return pa.table(
        {
            "int": pa.array(numbers, pa.int32()),
            "gap": pa.array(numbers / 3, mask=numbers % 4 == 1),
            "flag": pa.array(numbers % 3 == 0, mask=numbers % 7 == 1),
            "text": [None if i % 5 == 2 else f"text {i}" for i in range(rows)],
            "bytes": pa.array([bytes([i % 250]) * (i % 9) for i in range(rows)], pa.large_binary()),
            "few": [f"kind {i % 4}" if i % 6 else None for i in range(rows)],
            "day": pa.array([date(2020, 1, 1 + i % 28) for i in range(rows)]),
            "when": pa.array(numbers, pa.timestamp("us", "UTC")),
            "fixed": pa.array([bytes([i % 250]) * 5 for i in range(rows)], pa.binary(5)),
            "none": pa.nulls(rows, pa.int64()),
            "null": pa.nulls(rows),
            "key": pa.array(
                [None if i % 8 == 3 else f"k{i % 3}" for i in range(rows)]
            ).dictionary_encode(),
        }
    )


def nested(rows: int) -> pa.Table:
    numbers = [None if i % 5 == 1 else [i, None, 2][: i % 4] for i in range(rows)]
    members = [{"a": i, "b": f"b{i}", "l": [f"x{i}"] * (i % 3)} for i in range(rows)]
    vectors = [None if i % 4 == 1 else [i, None, 1.5] for i in range(rows)]
    packed = pa.struct({"x": pa.int32(), "y": pa.float64()})
    fields = {
        "list": pa.array(numbers, pa.list_(pa.int16())),
        "texts": pa.array([["a", None, f"{i}"][: i % 4] for i in range(rows)]),
        "deep": pa.array([[[i], [], None][: i % 4] for i in range(rows)]),
        "struct": pa.array(members),
        "structs": pa.array([[{"q": i, "r": "s"}] * (i % 3) for i in range(rows)]),
        "vector": pa.array(vectors, pa.list_(pa.float32(), 3)),
        "matrix": pa.array(
            [[[1, 2], [i % 9, 2]] for i in range(rows)], pa.list_(pa.list_(pa.int8(), 2), 2)
        ),
        "packed": pa.array([{"x": i, "y": i / 2} for i in range(rows)], packed),
        "blob": pa.array(
            [None if i % 3 == 1 else b"b" * i for i in range(rows)], pa.large_binary()
        ),
        "zstd": pa.array([f"compress {i % 5}" for i in range(rows)]),
        "lz4": pa.array([f"compress {i % 5}" for i in range(rows)]),
    }
    metadata = {
        "packed": {"packed": "true"},
        "blob": {"lance-encoding:blob": "true"},
        "zstd": {"lance-encoding:compression": "zstd"},
        "lz4": {"lance-encoding:compression": "lz4"},
    }
    schema = pa.schema(
        [
            pa.field(name, values.type, metadata=metadata.get(name))
            for name, values in fields.items()
        ]
    )
    return pa.table(list(fields.values()), schema=schema)


@without_checksums
def written(table: pa.Table, **options: int) -> bytes:
    store = MemoryStore(Objects())
    writer = FileWriter(
        store.open_writer(PATH),
        Schema.from_arrow(table.schema),
        FileOptions(FileVersion.V2_0, **options),
        registry=get_manager().encodings,
    )
    for batch in table.to_batches(max_chunksize=50):
        writer.write_batch(batch)
    writer.finish()
    return bytes(store.get(PATH))


FILES: dict[str, Callable[[], bytes]] = {
    "flat": lambda: written(flat(130)),
    "flat, many pages": lambda: written(flat(150), data_cache_bytes=12 * 300),
    "nested": lambda: written(nested(60)),
    "nested, many pages": lambda: written(nested(100), data_cache_bytes=11 * 200),
}


def change_encoding(data: bytes, chance: random.Random) -> Mutant:
    parsed = Parsed(data)
    number = chance.randrange(len(parsed.columns))
    column = parsed.columns[number]
    owner, message_type = column, ColumnEncoding
    if column.pages and chance.random() < 0.95:
        owner, message_type = chance.choice(column.pages), ArrayEncoding
    kind = change_any(owner.encoding.direct, message_type, chance)
    return Mutant(f"columns[{number}] encoding: {kind}", parsed.build())


AWARE: tuple[Mutation, ...] = (
    change_schema,
    change_column,
    change_encoding,
    swap_columns,
    change_table,
)


def damage(name: str, count: int, seed: int) -> Verdict:
    """Judge ``count`` mutants of one of `FILES`."""
    data = FILES[name]()
    schema = opened(data).schema
    judge = partial(outcome, schema=schema, mapper=partial(column_of, version=FileVersion.V2_0))
    assert Parsed(data).build() == data
    assert judge(data) == "read", name
    return judged(mutants(data, count, seed, extra=AWARE, hot=4000), judge)
