from __future__ import annotations

import copy
import pickle
import traceback
from pathlib import Path

import pytest

from lance_core.errors import InvalidInputError, LanceError, PluginLoadError
from lance_core.store.config import Secret, carrying_secrets
from lance_core.store.uri import parse_uri
from lance_core_sql.options import SqlSettings, settings_of
from lance_core_sql.store import SqlManifestStore, open_rows
from tests.each_case import each_case

TABLE = parse_uri("memory+sql://bucket/t.lance")
CANARY = "s3cr3tC4n4ry"
POSTGRES = "postgresql://writer@db.example/lance"


def test_a_local_table_has_a_sqlite_file_beside_it(tmp_path: Path) -> None:
    settings = settings_of(parse_uri(f"file+sql://{tmp_path}/t.lance/"), {})
    url = settings.database_url()
    assert url.get_backend_name() == "sqlite"
    assert url.database == f"{tmp_path}/t.lance.manifests.sqlite"


def test_a_path_of_any_characters_names_its_own_file(tmp_path: Path) -> None:
    name = "50% of? that# @täble:1"
    url = parse_uri(tmp_path / name)
    assert settings_of(url, {}).database_url().database == f"{tmp_path}/{name}.manifests.sqlite"


def test_a_table_elsewhere_needs_a_database() -> None:
    with pytest.raises(InvalidInputError, match="sqlUrl"):
        settings_of(TABLE, {})


@each_case("name", ["sqlUrl", "sqlurl", "sql_url", "SQL_URL"])
def test_settings_are_options_or_parameters_in_any_case(name: str) -> None:
    asked = SqlSettings(POSTGRES, bucket="bucket")
    assert settings_of(TABLE, {name: POSTGRES}) == asked
    assert settings_of(parse_uri(f"memory+sql://bucket/t?{name}={POSTGRES}"), {}) == asked
    assert settings_of(parse_uri(f"memory+sql://bucket/t?{name}={POSTGRES}"), {name: POSTGRES})


def test_a_setting_of_two_values_is_refused() -> None:
    url = parse_uri(f"memory+sql://bucket/t?sqlUrl={POSTGRES}")
    with pytest.raises(InvalidInputError, match="given twice"):
        settings_of(url, {"sqlUrl": "postgresql://other/db"})


@each_case(
    "url",
    [
        "",
        "nonsense",
        "oracle://host/db",
        "nosuch://host/db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///relative.db",
        "sqlite:////data/x.db?uri=true&mode=memory",
        "postgresql://host:port/db",
        f"wrong:{CANARY}@host",
        "postgresql+nosuch://host/db",
    ],
)
def test_a_url_that_cannot_be_meant_is_refused(url: str) -> None:
    with pytest.raises((InvalidInputError, PluginLoadError)) as caught:
        open_rows(TABLE, {"sqlUrl": url}).get("t", 1)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@each_case("name", ["", "a b", "x;drop table y", "a.b.c", "x" * 64, 'a"b', "1a"])
def test_a_name_that_is_no_tables_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="sqlTable"):
        settings_of(TABLE, {"sqlUrl": POSTGRES, "sqlTable": name})


# --- secrets ------------------------------------------------------------------------------------

OPEN = f"postgresql://writer:{CANARY}@127.0.0.1:9/lance"


@pytest.mark.parametrize("url", [OPEN, f"postgresql://127.0.0.1:9/lance?password={CANARY}"])
def test_a_password_in_plain_sight_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(InvalidInputError, match="sqlPassword") as caught:
        settings_of(TABLE, {"sqlUrl": url})
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@each_case(
    "options",
    [
        {"sqlUrl": "postgresql://writer@127.0.0.1:9/lance", "sqlPassword": CANARY},
        {"sqlUrl": "postgresql://writer@127.0.0.1:9/lance", "sqlPassword": Secret(CANARY)},
        {"sqlUrl": Secret(OPEN)},
    ],
)
def test_a_password_is_used_and_never_shown(options: dict[str, str | Secret]) -> None:
    rows = open_rows(TABLE, options)
    assert rows.settings.database_url().password == CANARY
    with pytest.raises(LanceError) as caught:
        rows.get("t", 1)
    shown = "".join(traceback.format_exception(caught.value))
    shown += repr(rows) + str(rows) + repr(rows.settings) + repr(vars(rows))
    assert CANARY not in shown
    assert CANARY.encode() not in pickle.dumps(rows)
    with pytest.raises(InvalidInputError, match="was dropped when"):
        pickle.loads(pickle.dumps(rows)).get("t", 1)
    with carrying_secrets():
        travelled = pickle.loads(pickle.dumps(rows))
    assert travelled.settings == rows.settings


def test_what_holds_no_secret_travels() -> None:
    rows = open_rows(TABLE, {"sqlUrl": POSTGRES, "sqlTable": "meta.manifests"})
    for travelled in (pickle.loads(pickle.dumps(rows)), copy.deepcopy(rows)):
        assert isinstance(travelled, SqlManifestStore)
        assert travelled.settings == rows.settings
