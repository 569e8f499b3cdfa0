"""Every Python block of the documentation runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.docs.page_examples import QUERY_ENGINES, ROOT, blocks, pages, run
from tests.examples import only_on_spark_in_full

LONG_PAGES = ("docs/plugins/spark.md", "docs/how-to/from-parquet-or-delta-on-spark.md")
"""Pages of Spark whose examples start many jobs and streams."""

WITHOUT_SESSION = [name for name in pages() if "spark" not in name and name != QUERY_ENGINES]


@pytest.mark.parametrize("name", WITHOUT_SESSION)
def test_the_examples_of_a_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(ROOT / name, {"__name__": "example"})


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=only_on_spark_in_full) if name in LONG_PAGES else name
        for name in pages()
        if "spark" in name
    ],
)
def test_the_examples_of_a_page_run_in_a_session(
    name: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session takes relative paths for such as begin where its Java was started."""
    folder = Path(java_folder(spark))
    stopped: list[SparkSession] = []  # others use it, too
    assert not list(folder.rglob("*.lance"))
    monkeypatch.chdir(folder)

    def stop(session: SparkSession) -> None:
        stopped.append(session)

    monkeypatch.setattr(SparkSession, "stop", stop)
    names: dict[str, Any] = {"__name__": "example"}
    run(ROOT / name, names)
    assert names["spark"] is spark
    assert stopped == [spark]
    assert list(folder.glob("*.lance"))
    for view in ("numbers", "orders"):
        spark.catalog.dropTempView(view)
    assert not spark.catalog.listTables()
    for made in [*folder.glob("*.lance"), *folder.glob("*.parquet")]:
        shutil.rmtree(made)


def java_folder(spark: SparkSession) -> str:
    return str(spark._jvm.System.getProperty("user.dir"))  # type: ignore[union-attr]


def test_the_first_examples_are_found() -> None:
    assert blocks(ROOT / "README.md")
    assert blocks(ROOT / "docs" / "tutorial.md")
