"""Executors that are processes of their own, and a server of Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.spark.faults.spark_home import spark_home
from tests.spark.java import JAVA_OPTIONS

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
LIMIT = 600
"""Seconds, on a busy machine."""

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

CLUSTER = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.ui.enabled": "false",
}


def environment(home: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {
        **os.environ,
        "JDK_JAVA_OPTIONS": JAVA_OPTIONS,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": path,
        "SPARK_HOME": str(home),
        "SPARK_TESTING": "1",  # the server of Connect takes any free port
    }


def run(command: list[str], home: Path) -> dict[str, Any]:
    """The JSON in the last line that a process prints."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[done.stderr.find("Traceback") :][:10_000]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_submitted_job_brings_the_plugin_and_survives_its_executors(tmp_path: Path) -> None:
    files = tmp_path / "plugin.zip"
    with zipfile.ZipFile(files, "w") as archive:
        folder = ROOT / "plugins" / "spark"
        for path in sorted(folder.glob("*_*/**/*.py")):
            archive.write(path, path.relative_to(folder))
    home = spark_home(tmp_path / "home")
    settings = [text for pair in CLUSTER.items() for text in ("--conf", "=".join(pair))]
    told = run(
        [
            str(home / "bin" / "spark-submit"),
            *("--master", "local-cluster[2,1,1024]", "--py-files", str(files), *settings),
            *(str(HERE / "submitted.py"), str(tmp_path)),
        ],
        home,
    )
    assert told["executors"] == 2
    assert all(Path(file).parents[1].name == files.name for file in told["modules"])
    assert told["sum"] == sum(range(100))
    assert told["killed"] == []


def test_a_client_of_spark_connect_reads_writes_and_streams(tmp_path: Path) -> None:
    home = spark_home(tmp_path / "home")
    told = run([sys.executable, "-m", "tests.spark.clusters.connected", str(tmp_path)], home)
    assert told == {
        "module": "pyspark.sql.connect.session",
        "count": 3,
        "filter": [0, 1],
        "copy": 10,
        "merged": [11, 45],
    }
