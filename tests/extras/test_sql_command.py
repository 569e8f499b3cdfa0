"""The command ``lance-core sql``, which DataFusion runs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.cli import main


def test_the_result_of_a_query_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"city": ["Oslo", "Bern", "Oslo"], "n": [1, 2, 5]})
    lance_core.write_dataset(table, tmp_path)
    query = "SELECT city, sum(n) AS total FROM dataset GROUP BY city ORDER BY city"
    assert main(["sql", str(tmp_path), query]) == 0
    assert capsys.readouterr().out.splitlines() == ["city=Bern  total=2", "city=Oslo  total=6"]
    assert main(["sql", str(tmp_path), query, "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert records == [{"city": "Bern", "total": 2}, {"city": "Oslo", "total": 6}]
    assert main(["sql", str(tmp_path), "SELECT nothing FROM nowhere"]) == 1
    assert capsys.readouterr().err.startswith("lance-core: ")
