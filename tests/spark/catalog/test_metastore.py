"""Registered tables in a Hive metastore: later sessions have them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.examples import only_on_spark_in_full
from tests.spark.catalog.metastore import STEPS
from tests.spark.java import ENVIRONMENT

ROOT = Path(__file__).parents[3]


@only_on_spark_in_full
def test_names_last_from_session_to_session(tmp_path: Path) -> None:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path, **ENVIRONMENT}
    for step in STEPS:
        command = [sys.executable, "-W", "ignore", "-m", "tests.spark.catalog.metastore", step]
        ended = subprocess.run(
            [*command, str(tmp_path)],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not ended.returncode, (step, ended.stderr[-3000:])
