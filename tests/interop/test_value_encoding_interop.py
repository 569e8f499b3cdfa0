"""What pylance makes of tables with columns in an encoding that only a plugin has."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_core
from tests.conformance.test_example_encoding import table

VERSIONS = ("2.0", "2.1", "2.2")
FOREIGN = ("price", "maybe", "prices", "inner")
REFUSED = (OSError, ValueError, pa.ArrowInvalid)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_pylance_reads_the_other_columns(version: str, tmp_path: Path) -> None:
    whole = table(3000)
    lance_core.write_dataset(whole, tmp_path / "t.lance", data_storage_version=version)
    dataset = lance.dataset(str(tmp_path / "t.lance"))
    assert dataset.schema.equals(whole.schema)
    assert dataset.count_rows() == 3000
    assert dataset.to_table(columns=["id"]).equals(whole.select(["id"]))
    assert dataset.to_table(columns=["id"], filter="id > 2990").num_rows == 9
    assert dataset.take([7, 9], columns=["id"])["id"].to_pylist() == [7, 9]


@pytest.mark.parametrize("column", FOREIGN)
def test_pylance_refuses_a_column_that_it_cannot_decode(
    column: str, version: str, tmp_path: Path
) -> None:
    lance_core.write_dataset(table(300), tmp_path / "t.lance", data_storage_version=version)
    dataset = lance.dataset(str(tmp_path / "t.lance"))
    with pytest.raises(REFUSED) as scanned:
        dataset.to_table(columns=[column])
    with pytest.raises(BaseException) as taken:  # noqa: PT011  # it panics in 2.0 files
        dataset.take([7], columns=[column])
    if version == "2.0":
        assert "/example.org/alp (pip install lance-core-example-vault)" in str(taken.value)
    else:
        assert "constant is not supported for mini-block" in str(scanned.value)
        assert "constant is not supported for mini-block" in str(taken.value)


def test_what_pylance_appends_is_read_beside_it(version: str, tmp_path: Path) -> None:
    first, second = table(300), table(200)
    uri = str(tmp_path / "t.lance")
    lance_core.write_dataset(first, uri, data_storage_version=version)
    lance.write_dataset(second, uri, mode="append")
    assert lance_core.dataset(uri).to_table().equals(pa.concat_tables([first, second]))


def test_pages_that_pylance_copies_can_still_be_read(version: str, tmp_path: Path) -> None:
    uri, part = str(tmp_path / "t.lance"), table(300)
    for _ in range(2):
        lance_core.write_dataset(part, uri, mode="append", data_storage_version=version)
    done = lance.dataset(uri).optimize.compact_files(compaction_mode="force_binary_copy")
    assert done.fragments_added == 1
    assert lance_core.dataset(uri).to_table().equals(pa.concat_tables([part, part]))
