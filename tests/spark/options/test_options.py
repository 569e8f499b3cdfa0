"""Options of reads and writes, without a session."""

from __future__ import annotations

import os
import pickle
import traceback
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructType

import lance_core
from lance_core.errors import InvalidInputError, LanceError, StoreError, UnsupportedFeatureError
from lance_core.store.config import Secret
from lance_core_spark.brief_errors import HIDE
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.source import LanceSource
from lance_core_spark.table_ref import TableRef
from pyspark_lance.data_source import DefaultSource
from tests.each_case import each_case


def test_names_are_found_in_any_case() -> None:
    options = DataSourceOptions.parse({"PATH": "t.lance", "Version": "3", "With_Row_ID": "TRUE"})
    assert options.read.version == 3
    assert options.read.meta_columns == ("_rowid",)


def test_options_may_be_written_as_in_delta() -> None:
    options = DataSourceOptions.parse(
        {
            "path": "t.lance",
            "versionAsOf": "3",
            "mergeSchema": "true",
            "overwriteSchema": "false",
            "replaceWhere": "a = 1",
            "txnAppId": "job",
            "txnVersion": "7",
            "userMetadata": "why",
            "maxRecordsPerFile": "10",
            "ignoreDeletes": "true",
            "maxBytesPerTrigger": "5",
        }
    )
    assert (options.read.version, options.stream.changes) == (3, "ignore_deletes")
    write = options.write
    assert (write.merge_schema, write.overwrite_schema, write.replace_where) == (
        *(True, False, "a = 1"),
    )
    assert (write.transaction, write.message, write.files) == (
        *(("job", 7), "why", {"max_rows_per_file": 10}),
    )
    assert DataSourceOptions.parse({"path": "t", "timestampAsOf": "2026-01-01"}).read.asof
    with pytest.raises(InvalidInputError, match="versionasof"):
        DataSourceOptions.parse({"path": "t", "version": "3", "versionAsOf": "3"})


def test_columns_are_separated_by_commas_outside_of_backticks() -> None:
    text = " a, s.x ,`b,c`,`d``e`, s.`x.y`"
    options = DataSourceOptions.parse({"path": "t.lance", "columns": text})
    assert options.read.columns == ("a", "s.x", "b,c", "d`e", "s.`x.y`")


def test_options_of_the_store_are_prefixed_or_known() -> None:
    options = DataSourceOptions.parse(
        {
            "path": "t.lance",
            "storage.whatever": "1",
            "durability": "fast",
            "aws_region": "eu",
            "commit_handler": "rename",
        }
    )
    assert options.table.options == {
        "whatever": "1",
        "durability": "fast",
        "aws_region": "eu",
        "commit_handler": "rename",
    }


def test_options_of_stores_and_of_ways_to_commit_need_no_prefix() -> None:
    known = {
        "allow_http": "true",
        "client_retry_timeout": "10s",
        "timeout": "5s",
        "sqlurl": "sqlite:///commits",
        "dynamodb_endpoint": "http://127.0.0.1:1",
        "lease_uri": "s3://leases/t",
        "allow_base_paths": "s3://other",
    }
    assert DataSourceOptions.parse({"path": "s3+sql://b/t", **known}).table.options == known


def test_an_unknown_option_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"'colums'.*columns.*storage\.colums"):
        DataSourceOptions.parse({"path": "t.lance", "colums": "a"})


@pytest.mark.parametrize(
    "options",
    [
        {"version": "-1"},
        {"version": "0"},
        {"version": "one"},
        {"limit": "1.5"},
        {"with_row_id": "yes"},
        {"if_exists": "maybe"},
        {"version": "1", "asof": "2024-01-01"},
        {"max_rows_per_file": "0"},
    ],
    ids=str,
)
def test_malformed_values_are_errors(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        DataSourceOptions.parse({"path": "t.lance", **options})


def test_one_of_paths_is_a_path_and_several_are_refused() -> None:
    assert DataSourceOptions.parse({"paths": '["memory://t"]'}).table.uri == "memory://t"
    with pytest.raises(UnsupportedFeatureError, match="one table at a time"):
        DataSourceOptions.parse({"paths": '["a", "b"]'})


def test_no_path_is_explained() -> None:
    with pytest.raises(InvalidInputError, match="TEMPORARY VIEW"):
        DataSourceOptions.parse({})


def test_local_paths_do_not_depend_on_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert DataSourceOptions.parse({"path": "t.lance"}).table.uri == str(tmp_path / "t.lance")


def test_secrets_travel_but_do_not_show() -> None:
    options = DataSourceOptions.parse(
        {"path": "t.lance", "storage.secret_key": "tiger", "s3_foo": "lion"}
    )
    assert "tiger" not in f"{options!r} {options.table}"
    assert "lion" not in f"{options!r} {options.table}"
    arrived = pickle.loads(pickle.dumps(options))
    assert arrived.table.options == {"secret_key": Secret("tiger"), "s3_foo": "lion"}
    assert arrived == options


def test_no_frame_of_a_data_source_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_CORE_TRACEBACK", "full")
    for uri in ("nonsense://host/t", "memory://t?x"):
        given = {"path": uri, "storage.secret_key": "tiger", "token": "tiger", "version": "1"}
        for source in (LanceSource, DefaultSource):
            with pytest.raises(LanceError) as caught:
                source(given)
            captured = traceback.TracebackException.from_exception(
                caught.value, capture_locals=True
            )
            frames = [frame for frame in captured.stack if frame.filename != __file__]
            assert len(frames) >= 3
            assert [str(frame) for frame in frames if "tiger" in repr(frame.locals)] == []


def test_an_address_with_a_password_does_not_show_it() -> None:
    assert "tiger" not in repr(TableRef.of("memory://user:tiger@host/t", {}))


def test_the_versions_of_a_table_that_a_process_opens_share_their_caches(tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    lance_core.write_dataset(pa.table({"x": [1]}), uri).insert(pa.table({"x": [2]}))
    table = TableRef.of(uri, {})
    assert table.open(1).session() is table.open().session()


@each_case("text", ["nonsense >", "nope > 1", "n = 'x' AND"])
def test_an_invalid_filter_is_reported_before_a_task_runs(tmp_path: Path, text: str) -> None:
    lance_core.write_dataset(pa.table({"n": [1]}), tmp_path / "t")
    source = LanceSource({"path": str(tmp_path / "t"), "filter": text})
    with pytest.raises(LanceError, match="option 'filter'"):
        source.schema()
    with pytest.raises(LanceError, match="option 'filter'"):
        source.reader(LanceSource({"path": str(tmp_path / "t")}).schema())


def test_a_folder_that_cannot_be_written_is_reported_before_a_task_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    source = LanceSource({"path": str(tmp_path / "file" / "t.lance")})
    with pytest.raises(StoreError, match=r"t\.lance cannot be written"):
        source.writer(StructType().add("n", LongType()), overwrite=False)


@each_case("name", ["location", "provider", "owner", "comment"])
def test_properties_of_catalog_tables_are_explained(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"register_table.*spark"):
        DataSourceOptions.parse({"path": "t.lance", name: "x"})


def test_errors_of_the_source_have_no_traceback_in_processes_of_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark shows it before the sentence that says what is wrong."""

    def traced() -> list[traceback.FrameSummary]:
        with pytest.raises(InvalidInputError, match="unknown option 'colums'") as caught:
            DefaultSource({"path": str(tmp_path), "colums": "a"})
        return traceback.extract_tb(caught.tb)

    monkeypatch.delenv(HIDE, raising=False)
    assert len(traced()) == 2  # this test, and a line of the source
    assert HIDE not in os.environ
    monkeypatch.setenv("PYTHON_WORKER_FACTORY_PORT", "1")
    monkeypatch.setenv("LANCE_CORE_TRACEBACK", "full")
    assert len(traced()) > 2
    assert HIDE not in os.environ
    monkeypatch.delenv("LANCE_CORE_TRACEBACK")
    traced()
    assert os.environ.pop(HIDE) == "1"  # PySpark looks at it.
