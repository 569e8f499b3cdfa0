"""The same rows give the same bytes, whether pylance or we write them (file version 2.0)."""

from __future__ import annotations

import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader as TheirReader
from lance.file import LanceFileWriter as TheirWriter

from lance_core.checksums import environment
from lance_core.file import LanceFileReader as OurReader
from lance_core.file import LanceFileWriter as OurWriter
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

ROWS = 317
RNG = np.random.default_rng(4)
NUMBERS = range(ROWS)
GAPS = RNG.random(ROWS) < 0.2
TEXTS = [f"value {i} {'ä€𝄞'[: i % 4]}" * (i % 5) for i in NUMBERS]
SPARSE = [None if i % 4 == 0 else text for i, text in enumerate(TEXTS)]
FEW = [["a", "bb", None, "", "ccc"][i % 5] for i in NUMBERS]
PACKED = pa.struct({"a": pa.int16(), "b": pa.float64(), "c": pa.list_(pa.float32(), 2)})
PAYLOADS = [None if i % 5 == 0 else b"" if i % 5 == 1 else bytes([i % 256]) * i for i in NUMBERS]


def compression(scheme: str, **more: str) -> dict[str, str]:
    return {"lance-encoding:compression": scheme} | {
        f"lance-encoding:compression-{key}": value for key, value in more.items()
    }


def sparse(type_: pa.DataType) -> pa.Array:
    is_text = type_ in (pa.string(), pa.large_string())
    return pa.array(
        [value if is_text or value is None else value.encode() for value in SPARSE], type_
    )


COLUMNS: dict[str, tuple[pa.Array, dict[str, str]]] = {
    "int8": (pa.array(RNG.integers(-128, 128, ROWS), pa.int8()), {}),
    "int64 with nulls": (pa.array(RNG.integers(0, 1 << 60, ROWS), mask=GAPS), {}),
    "float16": (pa.array(RNG.normal(size=ROWS).astype(np.float16)), {}),
    "bool": (pa.array(GAPS), {}),
    "bool with nulls": (pa.array(GAPS, mask=RNG.random(ROWS) < 0.3), {}),
    "decimal128": (pa.array([Decimal(i) for i in NUMBERS], pa.decimal128(20, 2)), {}),
    "decimal256": (
        pa.array([Decimal(i) if i % 3 else None for i in NUMBERS], pa.decimal256(60, 2)),
        {},
    ),
    "binary of 5": (
        pa.array([bytes([i % 256] * 5) if i % 3 else None for i in NUMBERS], pa.binary(5)),
        {},
    ),
    "null": (pa.nulls(ROWS), {}),
    "null int32": (pa.nulls(ROWS, pa.int32()), {}),
    "null string": (pa.nulls(ROWS, pa.string()), {}),
    **{
        f"{type_} {scheme}": (sparse(type_), compression(scheme) if scheme else {})
        for type_ in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
        for scheme in ("", "zstd", "lz4", "none", "unheard-of")
    },
    "zstd level": (sparse(pa.string()), compression("zstd", level="11")),
    "fsst, too little": (pa.array(TEXTS[:99]), compression("fsst")),
    "few": (pa.array(FEW), {}),
    "few, zstd": (pa.array(FEW), compression("zstd")),
    "few large": (pa.array(FEW, pa.large_string()), {}),
    "dictionary": (pa.array(FEW).dictionary_encode(), {}),
    "dictionary with a null item": (
        pa.DictionaryArray.from_arrays(
            pa.array(RNG.integers(0, 3, ROWS), pa.int16()), pa.array([5, None, 6])
        ),
        {},
    ),
    "null dictionary": (
        pa.DictionaryArray.from_arrays(pa.nulls(ROWS, pa.int8()), pa.array(["a"])),
        {},
    ),
    "vector": (pa.FixedSizeListArray.from_arrays(pa.array(np.arange(4.0 * ROWS)), 4), {}),
    "vector with nulls": (
        pa.array([[i, None] if i % 3 else None for i in NUMBERS], pa.list_(pa.int32(), 2)),
        {},
    ),
    "vector of bool": (
        pa.array(
            [[True, None, False] if i % 3 else None for i in NUMBERS], pa.list_(pa.bool_(), 3)
        ),
        {},
    ),
    "vector of nulls": (pa.array([[None, None]] * ROWS, pa.list_(pa.int32(), 2)), {}),
    "vector of vectors": (
        pa.array(
            [[[i, 1], None] if i % 3 else None for i in NUMBERS],
            pa.list_(pa.list_(pa.int32(), 2), 2),
        ),
        {},
    ),
    "list": (pa.array([list(range(i % 5)) if i % 7 else None for i in NUMBERS]), {}),
    "large list": (
        pa.array([["x"] * (i % 5) if i % 7 else None for i in NUMBERS], pa.large_list(pa.string())),
        {},
    ),
    "list without items": (
        pa.array([[] if i % 7 else None for i in NUMBERS], pa.list_(pa.int8())),
        {},
    ),
    "list of lists": (pa.array([[list(range(k)) for k in range(i % 5)] for i in NUMBERS]), {}),
    "struct": (pa.array([{"a": i, "b": {"c": str(i), "d": None}} for i in NUMBERS]), {}),
    "list of structs": (pa.array([[{"a": i, "b": str(i)}] * (i % 3) for i in NUMBERS]), {}),
    "empty struct": (pa.array([{}] * ROWS, pa.struct({})), {}),
    "packed struct": (
        pa.array([{"a": i, "b": i / 2, "c": [1, 2]} for i in NUMBERS], PACKED),
        {"packed": "true"},
    ),
    "blob": (pa.array(PAYLOADS, pa.large_binary()), {"lance-encoding:blob": "true"}),
}


@each_case("name", COLUMNS)
def test_files_are_the_same_byte_for_byte(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "WRITTEN", "no")  # pylance writes no checksums
    array, metadata = COLUMNS[name]
    schema = pa.schema([pa.field("x", array.type, metadata=metadata or None)])
    table = pa.table([array], schema=schema)
    theirs, ours = (write(writer, tmp_path, table) for writer in (TheirWriter, OurWriter))
    assert pages(ours) == pages(theirs)
    # Their schemas differ in what no reader looks at, and list metadata in any order.
    if not pa.types.is_dictionary(array.type) and len(metadata) < 2:
        assert ours.read_bytes() == theirs.read_bytes()
    read = OurReader(str(ours)).read_all().to_table()
    assert read["x"].to_pylist() == array.to_pylist()


@pytest.mark.parametrize("type_", [pa.string(), pa.binary()])
def test_fsst_is_read_by_the_other(type_: pa.DataType, tmp_path: Path) -> None:
    """Symbols are found in another way, so bytes differ; sizes are alike."""
    texts = [None if i % 9 == 4 else f"the quick brown fox {i} jumps \xff" for i in range(20_000)]
    array = pa.array([text and text.encode() for text in texts], pa.binary()).cast(type_)
    schema = pa.schema([pa.field("x", type_, metadata=compression("fsst"))])
    table = pa.table([array], schema=schema)
    theirs, ours = (write(writer, tmp_path, table) for writer in (TheirWriter, OurWriter))
    assert ours.stat().st_size < theirs.stat().st_size * 1.05
    assert ours.stat().st_size < table.nbytes * 0.8
    wanted = [0, 4, 777, 19_999]
    for path, reader in ((theirs, OurReader), (ours, TheirReader)):
        assert reader(str(path)).read_all().to_table().combine_chunks().equals(table)
        taken = reader(str(path)).take_rows(wanted).to_table()
        assert taken.combine_chunks().equals(table.take(wanted))


def pages(path: Path) -> bytes:
    """What comes before the description of the file, which is global buffer 0."""
    content = path.read_bytes()
    (table,) = struct.unpack("<Q", content[-24:-16])
    (end,) = struct.unpack("<Q", content[table : table + 8])
    return content[:end]


def write(writer: Any, folder: Path, table: pa.Table) -> Path:
    path = folder / str(writer.__module__).replace(".", "_")
    with writer(str(path), table.schema, version="2.0") as target:
        target.write_batch(table)
    return path
