"""Registered tables: queries and statements of SQL, versions, and changed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lance_core
from lance_core.dataset import CleanupStats
from lance_core.errors import DatasetNotFoundError, InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.options import Secret
from lance_core.optimize import CompactionMetrics
from lance_core_spark import register_table, sql, unregister_table
from lance_core_spark.catalog import statements
from tests.each_case import each_case

UPDATE_ALL_WITHOUT_SOURCE = """
    MERGE INTO events t USING (SELECT 1 AS id, 9 AS n) s ON t.id = s.id
    WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *
"""

MERGE_ALL = "MERGE INTO events USING (SELECT 1) s ON true"

TWO_VALUES = """
    MERGE INTO events USING (SELECT 1) s ON true WHEN NOT MATCHED THEN INSERT (n) VALUES (1, 2)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "n": pa.array([0, 0, 0], pa.uint8())})
    lance_core.write_dataset(rows, tmp_path / "it's.lance", enable_stable_row_ids=True)
    return str(tmp_path / "it's.lance")


@pytest.fixture
def name(spark: SparkSession, path: str) -> Iterator[str]:
    register_table(spark, "events", path)
    yield "events"
    unregister_table(spark, "events")
    assert not spark.catalog.listTables()


def rows_of(path: str, condition: str | None = None) -> list[tuple[Any, ...]]:
    table = lance_core.dataset(path).to_table(filter=condition)
    return sorted(tuple(row.values()) for row in table.to_pylist())


class Calls:
    """Stands for a table: keeps the names and the arguments of calls, and returns itself."""

    def __init__(self) -> None:
        self.made: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.made.append((name, *arguments))
            return RESULTS.get(name, self)

        return call


RESULTS: dict[str, Any] = {
    "execute": dict.fromkeys(["num_inserted_rows", "num_updated_rows", "num_deleted_rows"], 1),
    "update": 2,
    "delete": 3,
    "vacuum": CleanupStats(bytes_removed=5, old_versions=4),
    "optimize": CompactionMetrics(1, 2, 3, 4),
}

STATEMENTS: list[tuple[str, list[tuple[Any, ...]]]] = [
    (
        """
        MERGE INTO events AS t USING db.news s ON t.id = s.id -- the key
        WHEN MATCHED AND s.n > CASE WHEN t.n > 0 THEN 9 ELSE 1 END THEN UPDATE SET t.n = s.n,`m`=1
        WHEN MATCHED THEN DELETE
        WHEN NOT MATCHED BY TARGET AND s.id = 4 THEN INSERT (id, n) VALUES (s.id, f(s.n, 1))
        WHEN NOT MATCHED THEN INSERT *
        WHEN NOT MATCHED BY SOURCE AND id = 1 THEN UPDATE SET n = 0
        WHEN NOT MATCHED BY SOURCE THEN DELETE;
        """,
        [
            ("alias", "t"),
            ("merge", "`db`.`news` AS s", "t.id = s.id"),
            (
                "whenMatchedUpdate",
                "s.n > CASE WHEN t.n > 0 THEN 9 ELSE 1 END",
                {"t.n": "s.n", "m": "1"},
            ),
            ("whenMatchedDelete", None),
            ("whenNotMatchedInsert", "s.id = 4", {"id": "s.id", "n": "f(s.n, 1)"}),
            ("whenNotMatchedInsertAll", None),
            ("whenNotMatchedBySourceUpdate", "id = 1", {"n": "0"}),
            ("whenNotMatchedBySourceDelete", None),
            ("execute",),
        ],
    ),
    (
        "UPDATE events e SET e.n = e.n + 1, `o p` = ',' WHERE e.id = 5",
        [("alias", "e"), ("update", "e.id = 5", {"e.n": "e.n + 1", "`o p`": "','"})],
    ),
    ("DELETE FROM events", [("alias", "events"), ("delete", None)]),
    ("delete from events where id in (3, 4)", [("alias", "events"), ("delete", "id in (3, 4)")]),
    ("OPTIMIZE events", [("optimize",)]),
    ("VACUUM events", [("vacuum", None)]),
    ("VACUUM events RETAIN 168 HOURS", [("vacuum", 168)]),
    ("RESTORE TABLE events TO VERSION AS OF 2", [("restoreToVersion", 2)]),
    ("RESTORE events TO TIMESTAMP AS OF '2026-01-01'", [("restoreToTimestamp", "2026-01-01")]),
    ("RESTORE events TO TAG 'first'", [("restoreToTag", "first")]),
    ("DESC HISTORY events LIMIT 2", [("history", 2)]),
    ("DESCRIBE HISTORY events", [("history", None)]),
    ("DESCRIBE DETAIL events", [("detail",)]),
]


@each_case(("text", "calls"), STATEMENTS)
def test_statements_call_the_verbs_of_a_table(
    monkeypatch: pytest.MonkeyPatch, text: str, calls: list[tuple[Any, ...]]
) -> None:
    table, session = Calls(), Calls()

    class Source(str):
        def alias(self, name: str) -> str:
            return f"{self} AS {name}"

    monkeypatch.setattr(statements, "_table", lambda spark, name: table)
    monkeypatch.setattr(statements, "refresh_table", lambda spark, name: None)
    monkeypatch.setitem(session.__dict__, "table", Source)
    sql(session, text)  # type: ignore[arg-type]
    assert table.made == calls


def test_rows_are_inserted_by_position_and_by_name(
    spark: SparkSession, path: str, name: str
) -> None:
    assert sql(spark, "INSERT INTO TABLE events (id) VALUES (8)").collect() == []
    sql(spark, "INSERT INTO events BY NAME SELECT 1S AS n, 9 AS id")
    assert rows_of(path, "id > 3") == [(8, None), (9, 1)]
    sql(spark, "INSERT OVERWRITE events SELECT 1, 2.0D")
    assert rows_of(path) == [(1, 2)]
    with pytest.raises(AnalysisException, match="is a view"):
        spark.sql("INSERT INTO events SELECT 1, 1")


def test_names_of_versions_and_of_changed_columns(
    spark: SparkSession, path: str, name: str
) -> None:
    register_table(spark, "events_v1", path, version=1, columns=["n", "id"])
    evolved = """
        MERGE WITH SCHEMA EVOLUTION INTO events t USING (SELECT 2 AS id, 'x' AS more) s
        ON t.id = s.id WHEN MATCHED THEN UPDATE SET *
    """
    sql(spark, evolved)
    assert spark.table("events").columns == ["id", "n", "more"]
    assert spark.table("events_v1").columns == ["n", "id"]
    sql(spark, "RESTORE events TO VERSION AS OF 1")
    assert spark.table("events").columns == ["id", "n"]
    with pytest.raises(InvalidInputError, match="is a version of"):
        sql(spark, "DELETE FROM events_v1")
    unregister_table(spark, "events_v1")


@each_case(
    ("text", "error", "match"),
    [
        ("MERGE INTO events USING (SELECT 1) s WHEN", InvalidInputError, "ON is expected"),
        (
            TWO_VALUES,
            InvalidInputError,
            "1 columns, 2 values",
        ),
        (
            f"{MERGE_ALL} WHEN NOT MATCHED BY SOURCE BY TARGET THEN DELETE",
            InvalidInputError,
            "THEN is expected at 'BY TARGET",
        ),
        (UPDATE_ALL_WITHOUT_SOURCE, InvalidInputError, r"a name is expected at '\*'"),
        ("UPDATE events SET n", InvalidInputError, "= is expected at the end"),
        ("DELETE FROM events WHERE", InvalidInputError, "an expression is expected"),
        ("INSERT INTO events SELECT 1", ValueError, "1 columns, and 2"),
        ("INSERT INTO events SELECT 1, array(1)", ValueError, "cast it"),
        ("OPTIMIZE events ZORDER BY (id)", UnsupportedFeatureError, "createIndex"),
        ("VACUUM events RETAIN 1 DAYS", InvalidInputError, "HOURS is expected"),
        ("RESTORE events TO 3", InvalidInputError, "TIMESTAMP AS OF is expected"),
        ("DELETE FROM nowhere", AnalysisException, "nowhere"),
    ],
)
def test_wrong_statements_are_refused(
    spark: SparkSession, path: str, name: str, text: str, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        sql(spark, text)
    assert lance_core.dataset(path).version == 1


def test_what_cannot_be_registered(spark: SparkSession, path: str) -> None:
    with pytest.raises(DatasetNotFoundError):
        register_table(spark, "nothing", path + "x")
    with pytest.raises(InvalidInputError, match=r"no secrets.*storage\.key"):
        register_table(spark, "secret", path, **{"storage.key": Secret("tiger")})
    with pytest.raises(InvalidInputError, match="end of the statement"):
        register_table(spark, "a b", path)
    with pytest.raises(InvalidInputError, match="no registered table"):
        unregister_table(spark, "nothing")
    spark.sql("CREATE TEMPORARY VIEW taken AS SELECT 1")
    with pytest.raises(InvalidInputError, match="another table or view"):
        register_table(spark, "taken", path)
    spark.catalog.dropTempView("taken")
