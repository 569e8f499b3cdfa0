"""Data frames of pandas are written, and are results of scans."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.write.input import to_reader
from lance_core.errors import InvalidInputError
from tests.unit.dataset.blobs import blob_tables as blobs
from tests.unit.dataset.conftest import Sample
from tests.unit.dataset.write.test_input import SCHEMA, TABLE


def test_data_frames_are_written(uri: str) -> None:
    """Releases of pandas differ in the type of text."""
    frame = pd.DataFrame(TABLE.to_pydict())
    dataset = lance.write_dataset(frame, uri)
    assert dataset.to_table().cast(SCHEMA).equals(TABLE)
    assert lance.write_dataset(frame, uri, mode="append").count_rows() == 20


def test_a_schema_decides_where_a_data_frame_does_not() -> None:
    schema = pa.schema([pa.field("i", pa.int8()), pa.field("s", pa.large_string(), True)])
    rows = to_reader(pd.DataFrame(TABLE.to_pydict()), schema).read_all()
    assert rows.equals(TABLE.cast(schema))
    assert rows.schema.equals(schema)


@pytest.mark.parametrize("version", ["0.1", "2.0", "2.1", "2.2"])
def test_functions_of_new_columns_may_return_data_frames(uri: str, version: str) -> None:
    table = lance.write_dataset(
        {"a": range(20)}, uri, max_rows_per_file=8, data_storage_version=version
    )
    table.delete("a IN (0, 1, 10, 15, 19)")
    table.add_columns(lambda batch: batch.to_pandas()[["a"]].rename(columns={"a": "c"}))
    rows = table.to_table()
    assert rows["c"].to_pylist() == rows["a"].to_pylist()
    assert rows.num_rows == 15


def test_scanners_and_fragments_return_data_frames(sample: Sample) -> None:
    scanner = sample.dataset.scanner(["i", "s"], filter="i > 50")
    assert scanner.to_pandas().equals(scanner.to_table().to_pandas())
    fragment = sample.dataset.get_fragment(2)
    assert fragment.to_pandas(["i"])["i"].tolist() == fragment.to_table()["i"].to_pylist()


def test_data_frames_take_options_of_scans_and_of_arrow(sample: Sample) -> None:
    dataset = sample.dataset
    options = {"limit": 4, "strings_to_categorical": True}
    frame = dataset.to_pandas(["p.y"], "i > 3", **options)
    assert (str(frame["p.y"].dtype), frame["p.y"].tolist()) == (
        "category",
        ["y4", "y0", "y1", "y2"],
    )
    frame = dataset.get_fragment(1).to_pandas(["p.y"], offset=2, **options)
    assert (str(frame["p.y"].dtype), len(frame)) == ("category", 4)
    with pytest.raises(TypeError, match="nonsense"):
        dataset.to_pandas(nonsense=1)


def test_data_frames_have_files_bytes_or_descriptions(uri: str) -> None:
    values = [b"a", None, b""]
    made = lance.write_dataset(blobs.v2(values), uri)
    lazy = made.to_pandas()
    assert list(lazy.columns) == ["i", "b"]
    assert [None if file is None else file.read() for file in lazy["b"].tolist()] == values
    assert made.to_pandas(blob_mode="bytes")["b"].tolist() == values
    assert made.to_pandas(blob_mode="descriptions")["b"].tolist()[0]["size"] == 1
    with pytest.raises(InvalidInputError, match="blob_mode must be one of"):
        made.to_pandas(blob_mode="other")
    assert made.get_fragments()[0].to_pandas(columns=["b"])["b"].tolist()[1] is None


def test_a_data_frame_has_the_blobs_of_the_ranked_rows(uri: str) -> None:
    vectors = np.random.default_rng(5).normal(size=(20, 4)).astype(np.float32)
    v = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4)
    values = pa.array([b"blob %d" % number for number in range(20)], pa.large_binary())
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    rows = pa.table([v, values], pa.schema([pa.field("v", v.type), blob]))
    dataset = lance.write_dataset(rows, uri)
    query = {"column": "v", "q": vectors[7], "k": 3}
    expected = dataset.to_table(["v"], nearest=query, with_row_id=True)
    for columns in (["b"], ["_distance", "b"], {"renamed": "b"}):
        frame = dataset.scanner(columns, nearest=query).to_pandas()
        files = frame["renamed" if isinstance(columns, dict) else "b"]
        assert [file.read() for file in files] == [
            b"blob %d" % row for row in expected["_rowid"].to_pylist()
        ]
        assert frame["_distance"].tolist() == expected["_distance"].to_pylist()


def test_a_pandas_index_survives(uri: str) -> None:
    frame = pd.DataFrame({"x": [1.5, 2.5]}, index=pd.Index(["a", "b"], name="key"))
    assert lance.write_dataset(frame, uri).to_pandas().equals(frame)
