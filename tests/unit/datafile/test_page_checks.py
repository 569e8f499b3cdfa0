"""Pages are checked against their checksums before any of their bytes are decoded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.checksums.crc32c import BLOCK_BYTES
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.file import LanceFileReader

ROWS = 150_000

READS: dict[str, Callable[[lance_core.LanceDataset], object]] = {
    "scan": lambda ds: ds.to_table(["f"]),
    "filter": lambda ds: ds.to_table(filter="f >= 0"),
    "take": lambda ds: ds.take([*range(0, ROWS, 5000)], ["f"]),
}


def rows() -> pa.Table:
    return pa.table({"id": np.arange(ROWS), "f": np.random.default_rng(0).random(ROWS)})


@pytest.fixture(params=["2.0", "2.1", "2.2"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    uri, version = str(tmp_path / "t"), request.param
    lance_core.write_dataset(rows(), uri, data_storage_version=version, checksums="pages")
    return uri


def data_file(uri: str) -> Path:
    (path,) = Path(uri, "data").iterdir()
    return path


def damage(uri: str) -> int:
    """Flip a bit amid the values of ``f``; returns the position of its block."""
    path = data_file(uri)
    buffer = LanceFileReader(str(path)).metadata().columns[1].pages[-1].buffers[-1]
    raw = bytearray(path.read_bytes())
    raw[buffer.position + buffer.size // 2] ^= 0x10
    path.write_bytes(raw)
    return buffer.position + buffer.size // 2 // BLOCK_BYTES * BLOCK_BYTES


def test_all_reads_of_whole_pages_give_what_they_give_without_checks(uri: str) -> None:
    expected, ds = rows(), lance_core.dataset(uri, verify="pages")
    assert ds.to_table() == expected
    assert ds.to_table(filter="id IN (3, 70000)") == expected.take([3, 70_000])
    assert ds.take([149_000, 0, 7]) == expected.take([149_000, 0, 7])
    assert ds.get_fragments()[0].check_pages() > ds.get_fragments()[0].check_pages(["f"])
    assert 7 * ROWS <= ds.get_fragments()[0].check_pages(["f"]) < 9 * ROWS


def test_a_damaged_page_is_an_error_that_names_it(uri: str) -> None:
    offset = damage(uri)
    assert lance_core.dataset(uri).to_table() != rows()  # nobody asked for checks
    for name, read in READS.items():
        with pytest.raises(CorruptFileError, match="of column 'f', page") as raised:
            read(lance_core.dataset(uri, verify="pages"))
        assert raised.value.offset == offset, name
        assert raised.value.path == f"data/{data_file(uri).name}"
        assert raised.value.field.startswith("columns[1].pages[")
    with pytest.raises(CorruptFileError, match="of column 'f', page"):
        lance_core.dataset(uri).get_fragments()[0].check_pages()
    lance_core.dataset(uri).get_fragments()[0].check_pages(["id"])
    assert lance_core.dataset(uri, verify="pages").take([0])["f"][0] == rows()["f"][0]


def test_files_without_checksums_are_read_as_before(tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    lance_core.write_dataset(rows(), uri)
    ds = lance_core.dataset(uri, verify="pages")
    assert ds.to_table() == rows()
    assert ds.get_fragments()[0].check_pages() == 0


def test_small_files_that_are_read_as_one_are_checked(tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    parts = [rows().slice(200 * number, 200) for number in range(20)]
    for part in parts:
        lance_core.write_dataset(part, uri, mode="append", checksums="pages")
    assert lance_core.dataset(uri, verify="pages").to_table() == pa.concat_tables(parts)
    path = min(Path(uri, "data").iterdir())
    raw = bytearray(path.read_bytes())
    raw[LanceFileReader(str(path)).metadata().columns[0].pages[0].buffers[-1].position + 9] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CorruptFileError, match=f"{path.name}.*column 'id', page 0"):
        lance_core.dataset(uri, verify="pages").to_table()


def test_compactions_keep_checksums_and_refuse_damaged_rows(uri: str) -> None:
    lance_core.write_dataset(rows(), uri, mode="append", checksums="pages")
    ds = lance_core.dataset(uri)
    ds.optimize.compact_files()
    assert lance_core.dataset(uri, verify="pages").to_table() == pa.concat_tables([rows(), rows()])
    assert ds.get_fragments()[0].check_pages() > 14 * ROWS


def test_metadata_is_checked_whatever_is_asked_for(uri: str) -> None:
    path = data_file(uri)
    raw = path.read_bytes()
    at = len(raw) - 60
    path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    with pytest.raises(CorruptFileError):
        lance_core.dataset(uri).to_table()


def test_other_values_of_the_options_are_refused(uri: str) -> None:
    for name in ("verify", "checksums"):
        with pytest.raises(InvalidInputError, match=f"{name} must be 'pages'"):
            lance_core.dataset(uri, **{name: "all"})
        assert lance_core.dataset(uri, storage_options={name: "pages"}).count_rows() == ROWS
