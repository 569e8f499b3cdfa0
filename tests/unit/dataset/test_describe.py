"""What `repr` shows of a dataset."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core

TABLE = pa.table(
    {
        "id": pa.array(range(1200), pa.int64()),
        "<point>": pa.array([{"x": 1.0, "y": [1]}] * 1200),
    },
    pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("<point>", pa.struct([("x", pa.float64()), ("y", pa.list_(pa.int32()))])),
        ]
    ),
)


def test_a_dataset_shows_size_and_columns_without_reading(tmp_path: Path) -> None:
    ds = lance_core.write_dataset(
        TABLE, tmp_path / "t", max_rows_per_file=500, data_storage_version="2.1"
    )
    size = sum(path.stat().st_size for path in (tmp_path / "t" / "data").iterdir())
    shutil.rmtree(tmp_path / "t")
    assert repr(ds).splitlines() == [
        f"LanceDataset({str(tmp_path / 't')!r})",
        f"  version 1, rows 1,200, fragments 3, size {size / 1024:.1f} KiB, file version 2.1",
        "  id: int64 not null (id 0)",
        "  <point>: struct (id 1)",
        "    x: double (id 2)",
        "    y: list (id 3)",
        "      item: int32 (id 4)",
    ]


def test_a_wide_table_is_cut(tmp_path: Path) -> None:
    wide = pa.table({f"column {i}": [i] for i in range(100)})
    ds = lance_core.write_dataset(wide, tmp_path / "t")
    assert repr(ds).splitlines()[-1] == "  … and 40 more"


@pytest.mark.usefixtures("service")
def test_secrets_are_not_shown() -> None:
    ds = lance_core.write_dataset(
        TABLE, "memory://user:hidden@t", storage_options={"secret_access_key": "hidden"}
    )
    assert "hidden" not in f"{ds!r}{ds._repr_html_()}"
