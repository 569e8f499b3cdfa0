"""A misspelt option, parameter or scheme of a cloud or service is refused with the right name."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, PluginNotFoundError
from lance_core.plugins import open_store
from lance_core.plugins.manager import PluginManager

CANARY = "c4n4ry-value"
ROWS = pa.table({"x": [1]})
KEYED = {"account_name": "account", "account_key": "a2V5"}
REGION = {"aws_region": "us-east-1"}


@pytest.mark.parametrize(
    ("uri", "options", "name", "suggested"),
    [
        ("file+sql://{folder}/t", {}, "sqlUrll", "sqlUrl"),
        ("s3://bucket/t", REGION, "aws_regoin", "aws_region"),
        ("s3+ddb://bucket/t?ddbTableName=x", REGION, "dynamodb_endpont", "dynamodb_endpoint"),
        ("gs://bucket/t", {}, "google_base_urll", "google_base_url"),
        ("az://container/t", KEYED, "acount_name", "account_name"),
        ("http://host.invalid/t", {}, "commit_handlr", "commit_handler"),
        ("http://host.invalid/t", {}, "encodd", "encoded"),
        ("http://host.invalid/t", {}, "skip_instance_cach", "skip_instance_cache"),
        ("ftp://host.invalid/t", {}, "usernam", "username"),
    ],
)
def test_a_misspelt_storage_option_is_refused_on_every_store(
    tmp_path: Path, uri: str, options: dict[str, str], name: str, suggested: str
) -> None:
    place = uri.format(folder=tmp_path)
    with pytest.raises(InvalidInputError) as caught:
        lance.dataset(place, storage_options={**options, name: CANARY})
    assert f"did you mean {suggested!r}?" in str(caught.value)
    assert repr(name) in str(caught.value)
    assert CANARY not in str(caught.value)


def test_local_tables_open_with_the_options_of_a_service(tmp_path: Path) -> None:
    """One set of options serves tables in a service and, in a test or a copy, on this machine."""
    options = {
        "AWS_ACCESS_KEY_ID": "k",
        "account_name": "a",
        "aws_region": "north",
        "durability": "fast",
        "dynamodb_endpoint": "x",
        "google_service_account": "f",
        "lease_duration": "5",
        "sql_url": "sqlite:////x",
        "timeout": "5s",
    }
    for uri in (str(tmp_path / "t"), "memory://options-of-a-service/t"):
        lance.write_dataset(ROWS, uri, mode="overwrite", storage_options=options)
        assert lance.dataset(uri, storage_options=options).count_rows() == 1


def test_a_misspelt_parameter_of_a_url_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'sqlTable'"):
        lance.dataset(f"file+sql://{tmp_path}/t?sqlTabel=x")


@pytest.mark.parametrize(
    ("scheme", "text"),
    [
        ("s3e", "nearest name is 's3'"),
        ("gcs", r"lance-core\[gcs\] is installed and serves gs"),
        ("abfs", r"lance-core\[azure\] is installed and serves abfss, az"),
    ],
)
def test_a_scheme_that_is_near_is_suggested(scheme: str, text: str) -> None:
    with pytest.raises(PluginNotFoundError, match=text):
        open_store(f"{scheme}://bucket/t")


def test_an_extra_whose_plugin_is_disabled_need_not_be_installed() -> None:
    manager = PluginManager(environ={"LANCE_CORE_DISABLE_PLUGINS": "s3"})
    with pytest.raises(PluginNotFoundError, match="'s3' of lance-core-s3") as caught:
        manager.object_store("s3")
    assert "pip install" not in str(caught.value)


# --- factories ----------------------------------------------------------------------------------
