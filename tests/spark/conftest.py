"""One Spark session for all tests here; without Java 17 they fail and say so."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.faults.spark_home import spark_home
from tests.spark.java import CLIENT_ENVIRONMENT, JAVA_OPTIONS

PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of the session without others between them.

    Spark stops Python processes that were idle for a minute; to start one costs over a second.
    """
    with_session = [item for item in items if "spark" in getattr(item, "fixturenames", ())]
    for item in with_session:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))
    chosen = set(with_session)
    items[:] = with_session + [item for item in items if item not in chosen]


def start() -> SparkSession:
    return (
        # One thread, since each has Python processes of its own; two attempts of a task.
        SparkSession.builder.master("local[1,2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.session.timeZone", "America/New_York")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.python.daemon.module", "tests.spark.daemon")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        # Clients of Spark Connect use the session, too.
        .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
        .config("spark.connect.grpc.binding.port", "0")
        .getOrCreate()
    )


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Its Java runs in a folder of its own, which relative paths begin at."""
    java = os.environ.get("JAVA_HOME")
    if not (Path(java, "bin", "java").exists() if java else shutil.which("java")):
        pytest.fail("the tests of Spark need Java 17: install it or set JAVA_HOME", pytrace=False)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, **CLIENT_ENVIRONMENT}
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SPARK_HOME", str(spark_home(folder / "home")))
        patch.setenv("PYTHONPATH", path)  # tasks find the tests, wherever they run
        session = start()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def push_down(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(PUSH_DOWN, "true")
    yield
    spark.conf.unset(PUSH_DOWN)


def read(spark: SparkSession, uri: object, **options: object) -> DataFrame:
    return spark.read.format("lance").options(**options).load(str(uri))


def write(frame: DataFrame, uri: object, mode: str = "append", **options: object) -> None:
    frame.write.format("lance").mode(mode).options(**options).save(str(uri))
