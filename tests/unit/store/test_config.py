"""What travels to other processes."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest

from lance_core.errors import InvalidInputError
from lance_core.store.config import Secret, StoreConfig, carrying_secrets
from tests.each_case import each_case

CONFIG = StoreConfig(
    "s3+ddb://user:S3CRET1@host/x?ddbTableName=T&sas_token=S3CRET4",
    {"aws_secret_access_key": "S3CRET2", "aws_region": "eu", "odd": "S3CRET3"},
    "external",
)


def test_a_configuration_shows_no_values() -> None:
    shown = f"{CONFIG} {CONFIG!r}"
    assert "S3CRET" not in shown
    assert "aws_region" in shown
    assert "external" in shown


def test_plain_pickling_leaves_secrets_behind() -> None:
    data = pickle.dumps(CONFIG)
    for secret in (b"S3CRET1", b"S3CRET2", b"S3CRET4"):
        assert secret not in data
    loaded = pickle.loads(data)
    assert loaded.uri == "s3+ddb://user@host/x?ddbTableName=T"
    assert loaded.options["aws_region"] == "eu"
    assert loaded.options["aws_secret_access_key"] == Secret.missing()
    assert loaded.commit_handler == "external"


def test_pickling_carries_secrets_if_asked_to() -> None:
    with carrying_secrets():
        data = pickle.dumps(CONFIG)
    assert pickle.loads(data) == CONFIG


def test_a_local_path_means_the_same_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickle.dumps(StoreConfig("a b.lance"))).uri == f"{tmp_path}/a b.lance"


def test_a_configuration_does_not_change() -> None:
    options = {"aws_region": "eu"}
    config = StoreConfig("s3://b/x", options)
    options["aws_region"] = "us"
    assert config.options == {"aws_region": "eu"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.uri = "x"  # type: ignore[misc]
    assert hash(config) == hash(StoreConfig("s3://b/x", {"other": "1"}))


@each_case("options", [{"a": {}}, {"a": b"x"}, {"a": object()}, {1: "a"}, "a=1"])
def test_options_that_cannot_be_texts_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        StoreConfig("s3://b/x", options)
    assert "NotText" not in str(caught.value)


def test_options_are_texts_as_users_write_them() -> None:
    given = {"a": True, "b": 3, "c": 0.5, "d": Path("/a/b"), "e": None, "f": np.bool_(False)}
    config = StoreConfig("s3://b/x", given)  # type: ignore[arg-type]
    assert config.options == {"a": "true", "b": "3", "c": "0.5", "d": "/a/b", "f": "false"}


def test_a_malformed_uri_is_refused_at_once() -> None:
    with pytest.raises(InvalidInputError):
        StoreConfig("s3:x")


def test_a_folder_travels_and_is_part_of_the_place() -> None:
    config = StoreConfig("s3://bucket/t?x=1", {}, None, "tree/a/b")
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert copy.place == "s3://bucket/t/tree/a/b?x=1"
    assert "tree/a/b" in repr(copy)
    assert StoreConfig("s3://bucket/t?x=1").place == "s3://bucket/t?x=1"


@each_case("folder", ["..", "a/../b", "/a", "a/", "a//b", "a\\b", "a\0"])
def test_a_folder_is_inside_of_the_place(folder: str) -> None:
    with pytest.raises(InvalidInputError):
        StoreConfig("s3://bucket/t", {}, None, folder)


def test_a_relative_path_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = StoreConfig("t")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert config.url.path == f"{tmp_path}/t"
    assert config.in_folder("tree/b").place_url.path == f"{tmp_path}/t/tree/b"
    assert config.with_options({"durability": "fast"}).url.path == f"{tmp_path}/t"
    assert pickle.loads(pickle.dumps(config)).uri == f"{tmp_path}/t"
