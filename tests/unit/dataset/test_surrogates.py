"""Text that is no Unicode, with half of a surrogate pair, is refused wherever users pass text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import LanceError

HALF = "a\ud800b"


def test_a_lone_surrogate_is_a_typed_error(tmp_path: Path) -> None:
    rows = pa.table({"s": ["a", "b"], "i": [1, 2]})
    ds = lance.write_dataset(rows, tmp_path / "t.lance")
    many = ", ".join(f"'{number}'" for number in range(300))
    uses: list[Callable[[], Any]] = [
        *(
            lambda text=text: ds.to_table(filter=text)
            for text in [
                f"s = '{HALF}'",
                f"s IN ('{HALF}', 'b')",
                f"s IN ({many}, '{HALF}')",
                f"s LIKE '{HALF}%'",
                f"starts_with(s, '{HALF}')",
                f"regexp_like(s, '{HALF}')",
                f"{HALF} = 1",
                f"`{HALF}` = 1",
            ]
        ),
        lambda: ds.count_rows(f"s = '{HALF}'"),
        lambda: ds.delete(f"s = '{HALF}'"),
        lambda: ds.get_fragments()[0].count_rows(f"s = '{HALF}'"),
        lambda: list(ds.to_batches(filter=f"s = '{HALF}'")),
        lambda: ds.to_table(columns=[HALF]),
        lambda: ds.to_table(columns={HALF: "i"}),
        lambda: ds.to_table(columns={"x": HALF}),
        lambda: ds.to_table(columns={"x": f"'{HALF}'"}),
        lambda: ds.take([0], columns=[HALF]),
        lambda: ds.take([0], columns={HALF: "i"}),
        lambda: ds.take_blobs(HALF, indices=[0]),
        lambda: ds.tags.create(HALF, 1),
        lambda: ds.checkout_version(HALF),
        lambda: ds.create_branch(HALF),
        lambda: ds.update_config({HALF: "x"}),
        lambda: ds.update_config({"x": HALF}),
        lambda: ds.update_schema_metadata({"x": HALF}),
        lambda: ds.shallow_clone(str(tmp_path / HALF), 1),
        lambda: lance.dataset(str(tmp_path / HALF)),
        lambda: lance.dataset(f"file://{tmp_path}/{HALF}"),
        lambda: lance.dataset(f"memory://{HALF}"),
        lambda: lance.write_dataset(rows, str(tmp_path / HALF)),
        lambda: lance.write_dataset(rows, f"memory://{HALF}"),
        lambda: lance.write_dataset([{"s": HALF}], tmp_path / "u.lance"),
        lambda: lance.write_dataset(rows, ds.uri, mode="append", commit_message=HALF),
        lambda: lance.LanceDataset.drop(str(tmp_path / HALF)),
    ]
    for use in uses:
        with pytest.raises(LanceError):
            use()
    assert [path.name for path in tmp_path.iterdir()] == ["t.lance"]
    assert lance.dataset(ds.uri).version == 1
