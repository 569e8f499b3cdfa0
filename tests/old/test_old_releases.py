"""Old releases of pylance and this project read each other's tables with 2.0 files.

Run by ``tox -e old``: each release gets an environment of its own, made on the way.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from tests.old.cases import tables

HERE = Path(__file__).parent
CASES = list(tables())
Run = Callable[[str, Path], None]


@pytest.fixture(scope="module", params=["0.19.2", "1.0.1"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs ``old_pylance.py`` with the release of this parameter."""
    folder = tmp_path_factory.mktemp("pylance")
    python = str(folder / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = ["-m", "pip", "install", "--quiet", f"pylance=={request.param}"]
    subprocess.run([python, *install], check=True)

    def call(what: str, where: Path) -> None:
        subprocess.run([python, HERE / "old_pylance.py", what, where], check=True)

    return call


@pytest.fixture(scope="module")
def theirs(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables that the old release wrote."""
    folder = tmp_path_factory.mktemp("theirs")
    run("write", folder)
    return folder


@pytest.fixture(scope="module")
def ours(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables that we wrote and what the old release reads from them."""
    folder = tmp_path_factory.mktemp("ours")
    for name, table in tables().items():
        lance.write_dataset(table, folder / f"{name}.lance", max_rows_per_file=600)
    run("read", folder)
    return folder


@pytest.fixture(scope="module")
def shared(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of the old release to which we appended, and what it reads from them."""
    folder = tmp_path_factory.mktemp("shared")
    run("write", folder)
    for name, table in tables().items():
        lance.write_dataset(table, folder / f"{name}.lance", mode="append")
    run("read", folder)
    return folder


def said(folder: Path, name: str) -> pa.Table:
    """What the old release says is in a table."""
    with pa.memory_map(str(folder / f"{name}.arrow")) as source:
        return pa.ipc.open_file(source).read_all()


@pytest.mark.parametrize("name", CASES)
def test_we_read_what_an_old_release_wrote(theirs: Path, name: str) -> None:
    dataset = lance.dataset(theirs / f"{name}.lance")
    expected = said(theirs, name)
    assert dataset.to_table().equals(expected)
    wanted = [0, expected.num_rows // 2, expected.num_rows - 1] if expected.num_rows else []
    assert dataset.take(wanted).equals(expected.take(wanted))


@pytest.mark.parametrize("name", CASES)
def test_what_an_old_release_wrote_is_what_was_given_to_it(theirs: Path, name: str) -> None:
    given = tables()[name]
    assert said(theirs, name).to_pylist() == pa.concat_tables([given, given]).to_pylist()


@pytest.mark.parametrize("name", CASES)
def test_an_old_release_reads_what_we_wrote(ours: Path, name: str) -> None:
    assert said(ours, name).to_pylist() == tables()[name].to_pylist()


@pytest.mark.parametrize("name", CASES)
def test_an_old_release_reads_what_we_appended_to_its_table(shared: Path, name: str) -> None:
    given = tables()[name]
    assert said(shared, name).to_pylist() == pa.concat_tables([given] * 3).to_pylist()
