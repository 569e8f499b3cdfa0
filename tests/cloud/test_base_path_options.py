"""Storage options are not sent to other places than the one that they were given for."""

from __future__ import annotations

from typing import Any

import pytest

from lance_core.dataset.snapshot import base_paths
from lance_core.dataset.snapshot.base_paths import open_base
from lance_core.store.config import StoreConfig


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
