"""Storage options are not sent to other places than the one that they were given for."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.snapshot import base_paths
from lance_core.dataset.snapshot.base_paths import open_base
from lance_core.errors import BasePathRefusedError
from lance_core.store.config import StoreConfig, carrying_secrets
from tests.servers.moto import Moto


def test_options_go_to_the_place_that_the_user_named_only(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        base_paths, "open_store", lambda place, options: given.update({str(place): options})
    )
    options = {"aws_secret_access_key": "canary", "allow_base_paths": "yes"}
    config = StoreConfig("s3://bucket/table", options)
    for path in ("s3://bucket/x", "s3://other/x", "gs://bucket/x", "/x", "webdav://bucket/x"):
        open_base(config, None, path)
    assert given.pop("s3://bucket/x") == config.options
    assert given.pop("s3://other/x") == config.options  # on the host that the options name
    assert list(given.values()) == [{}] * 3
    given.clear()
    config = StoreConfig("webdav://host/table", options)
    for path in ("webdav://host/x", "webdav://other/x", "webdav://host:81/x", "s3://host/x"):
        open_base(config, None, path)
    assert given.pop("webdav://host/x") == config.options
    assert list(given.values()) == [{}] * 3


def test_options_of_bases_are_used_there_and_stored_nowhere(
    moto: Moto, bucket: str, tmp_path: Path
) -> None:
    base = f"s3://{bucket}/base"
    secret = "canary8f1eQ3zT7c9Kd2"
    params: Any = {base: {**moto.options, "aws_secret_access_key": secret}}
    rows = pa.table({"x": range(4)})
    made = lance.write_dataset(
        rows,
        tmp_path / "t",
        initial_bases=[lance.DatasetBasePath(base, name="bucket")],
        target_bases=["bucket"],
        base_store_params=params,
    )
    made.insert(rows, mode="append", target_all_bases=True, max_rows_per_file=2)
    assert made.count_rows("x > 0") == 6
    opened = lance.dataset(made.uri, base_store_params=params)
    assert opened.to_table() == made.to_table()
    assert opened.checkout_version(1).to_table() == rows
    for path in tmp_path.rglob("*.*"):
        assert secret.encode() not in path.read_bytes(), path
    for dataset in (made, opened):
        config = dataset.snapshot.root.config
        assert secret not in f"{config!r}{dataset.snapshot!r}{dataset!r}"
        assert secret.encode() not in pickle.dumps(dataset)
    with carrying_secrets():
        assert pickle.loads(pickle.dumps(opened)).to_table() == made.to_table()
    with pytest.raises(BasePathRefusedError):
        lance.dataset(made.uri).to_table()
