"""The protobuf code of both libraries in one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "imports",
    [
        "import lance; from lance_core._pb import transaction_pb2, index_pb2",
        "from lance_core._pb import transaction_pb2, index_pb2; import lance",
    ],
    ids=["pylance first", "ours first"],
)
def test_pylance_works_in_the_same_process(imports: str, tmp_path: Path) -> None:
    program = (
        f"{imports}; import pyarrow as pa, sys;"
        "table = lance.write_dataset(pa.table({'x': [1, 2, 3]}), sys.argv[1]);"
        "print(table.to_table(filter='x > 1').num_rows,"
        " transaction_pb2.Transaction(read_version=4).read_version)"
    )
    command = [sys.executable, "-W", "error::UserWarning:google", "-c", program]
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [*command, str(tmp_path / "table")], cwd=root, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout.split()) == (0, ["2", "4"]), result.stderr
