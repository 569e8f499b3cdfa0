"""Tables of the earliest releases of pylance are read, whatever these got wrong.

Run by ``tox -e old``. These releases need a pyarrow of their time, which Python 3.13 has not.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lance_core as lance
from tests.old.releases import HERE

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 13), reason="pyarrow 14 has no wheels")


def run(version: str, what: str, folder: Path) -> None:
    """Run ``early_pylance.py`` with a release of pylance in an environment of its own."""
    python = folder / version / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / version], check=True)
    needed = [f"pylance=={version}", "pyarrow<16", "numpy<2"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *needed], check=True)
    subprocess.run([python, HERE / "early_pylance.py", what, folder], check=True)


def test_strings_that_are_lists_of_bytes_are_read(tmp_path: Path) -> None:
    run("0.13.0", "strings", tmp_path)
    dataset = lance.dataset(tmp_path / "strings.lance")
    found = dataset.to_table()
    words = found["string"].to_pylist()
    rows = found.num_rows
    assert words == [None if row % 7 == 3 else f"wörd {row} " * (row % 40) for row in range(rows)]
    assert found["large_string"].to_pylist() == words
    assert found["binary"].cast("string").to_pylist() == words
    assert found["struct"].combine_chunks().field("s").to_pylist() == words
    assert found["last"].to_pylist() == found["number"].to_pylist() == list(range(rows))
    lists = [None if row % 5 == 1 else words[row : row + row % 3] for row in range(rows)]
    assert found["lists"].to_pylist() == lists
    some = [rows - 1, 0, rows // 2, 0]
    assert dataset.take(some).equals(found.take(some))
    assert dataset.to_table(offset=rows // 3, limit=50).equals(found.slice(rows // 3, 50))


def test_counts_that_a_migration_got_wrong_come_from_the_files(tmp_path: Path) -> None:
    run("0.7.5", "delete", tmp_path)
    run("0.8.0", "append", tmp_path)
    dataset = lance.dataset(tmp_path / "counts.lance")
    totals = dataset.versions()[-1]["metadata"]
    assert totals["total_rows"] == "82"  # what 0.8.0 has recorded
    expected = [*range(10, 100), 0, 1]
    assert dataset.count_rows() == 92
    assert dataset.to_table()["x"].to_pylist() == expected
    assert [fragment.physical_rows for fragment in dataset.get_fragments()] == [100, 2]
    dataset.delete("x = 50")
    expected.remove(50)
    assert lance.dataset(dataset.uri).to_table()["x"].to_pylist() == expected
