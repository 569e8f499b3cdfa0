"""Pages that pylance refuses in a file of some version, and no others, are refused here too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader, LanceFileWriter

from lance_core.errors import CorruptFileError
from lance_core.file import LanceFileReader as OwnReader
from tests.column_surgery import edit_column, set_layout, shift_buffers
from tests.page_grammar import BOTH, cases

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.float64())])


@pytest.fixture(params=sorted(BOTH))
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def written(version: str, tmp_path: Path) -> Path:
    path = tmp_path / "some.lance"
    writer = LanceFileWriter(str(path), SCHEMA, version=version)
    random = np.random.default_rng(0).random(3000)
    writer.write_batch(pa.table({"a": np.arange(3000), "b": random}))
    writer.close()
    return path


def refused(path: Path) -> str | None:
    """Why pylance does not even open the file; None if it reads the other column."""
    try:
        LanceFileReader(str(path), columns=["a"]).read_all().to_table()
    except OSError as error:
        return str(error)
    return None


def test_pages_are_refused_as_by_pylance(version: str, written: Path) -> None:
    original = written.read_bytes()
    for case in cases(version):
        written.write_bytes(original)
        edit_column(written, 1, set_layout(case.layout))
        why = refused(written)
        assert (why is None) == (version in case.allowed), f"{case.name}: {why}"
        assert OwnReader(written, columns=["a"]).read_all().to_table().num_rows == 3000
        if why is not None:
            with pytest.raises(CorruptFileError, match=r"some\.lance'.*field 'b'"):
                OwnReader(written, columns=["b"]).read_all().to_table()


@pytest.mark.parametrize("by", [1, 8, 32])
def test_buffers_that_are_not_aligned_are_refused_as_by_pylance(by: int, written: Path) -> None:
    edit_column(written, 1, shift_buffers(by))
    assert "is not aligned to 64 bytes" in (refused(written) or "")
    with pytest.raises(CorruptFileError, match=r"field 'b'.*not a multiple of 64"):
        OwnReader(written, columns=["b"]).read_all().to_table()
