"""Old releases of pylance, each in an environment of its own, and what they say."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import lance_core as lance

HERE = Path(__file__).parent
TOO_NEW = {("0.19.2", "zstd"): "Unknown frame descriptor"}
"""What a release cannot read of 2.0 tables, written by whomever, and how it says so."""


@dataclass(frozen=True, slots=True)
class Release:
    """An old release of pylance in an environment of its own."""

    version: str
    python: Path

    def run(self, what: str, folder: Path, file_version: str = "2.0") -> None:
        command = [self.python, HERE / "old_pylance.py", what, folder, file_version]
        subprocess.run(command, check=True)

    def check(self, folder: Path, name: str, expected: pa.Table) -> None:
        """Assert that this release has read ``expected``, or said why it cannot."""
        refusal = TOO_NEW.get((self.version, name))
        if refusal is None:
            assert said(folder, name).to_pylist() == expected.to_pylist()
        else:
            assert refusal in (folder / f"{name}.error").read_text("utf-8")


def said(folder: Path, name: str) -> pa.Table:
    """What the old release says is in a table."""
    with pa.memory_map(str(folder / f"{name}.arrow")) as source:
        return pa.ipc.open_file(source).read_all()


def check_ours(folder: Path, name: str) -> None:
    """Assert that we read a table, whole and row by row, as the old release says that it is."""
    dataset = lance.dataset(folder / f"{name}.lance")
    expected = said(folder, name)
    assert dataset.schema.equals(expected.schema, check_metadata=True)
    # As lists: one of them may keep a null of a dictionary among its items, the other beside them.
    assert dataset.to_table().to_pylist() == expected.to_pylist()
    if expected.num_rows:
        wanted = [0, expected.num_rows // 2, expected.num_rows - 1]
        assert dataset.take(wanted).to_pylist() == expected.take(wanted).to_pylist()
