"""Tables on S3 and a cluster of two executors: who finds what, and what stays secret.

All of it happens once, in a job that is submitted (`tests.cloud.spark.cluster`): the environment of
Spark's processes is that in which its Java began. `tox -e soak-spark` runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import lance as pylance
import pytest

import lance_core
import lance_core_dynamodb
from examples.flights.source import ARRIVING
from examples.flights.tables import Lake
from lance_core_s3.options import ALIASES, SECRETS
from tests.examples import only_on_spark_in_full, share
from tests.servers.moto import ACCESS_KEY, REGION, Moto
from tests.spark.faults.spark_home import spark_home
from tests.spark.java import ENVIRONMENT

ROOT = Path(__file__).parents[3]
LIMIT = 600
"""Seconds, on a busy machine."""

JOBS = (
    *("flights", "external", "documented", "modules", "given", "every_name", "without_plugin"),
    *("calls", "show", "killed"),
)
PLUGIN = "plugin.zip"

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster"), only_on_spark_in_full]

CANARY = "canary5f0c"
CUSTOMER_KEY = (CANARY * 5)[:42] + "A="
"""32 bytes in base64."""

AT_DEBUG = """\
import logging
logging.basicConfig(level=logging.DEBUG)
logging.getLogger("py4j").setLevel(logging.INFO)
logging.getLogger("botocore").debug("this logger shows what is logged at DEBUG")
"""
"""What every Python process of the cluster runs first."""

NAMES = sorted(name for name, canonical in ALIASES.items() if canonical in SECRETS)
UNKNOWN_NAMES = ["aws_secret", "sas_token", "fs.s3a.secret.key"]


def options_of(moto: Moto, name: str) -> dict[str, str]:
    """Options with a secret under this name, and what it needs beside it."""
    canonical = ALIASES.get(name, name)
    options = {key: value for key, value in moto.options.items() if key != canonical}
    if canonical == "aws_sse_customer_key_base64":
        return options | {name: CUSTOMER_KEY, "aws_server_side_encryption": "sse-c"}
    if canonical == "proxy_url":
        never = {"client_max_retries": "0", "download_retry_count": "0"}
        return options | never | {name: f"http://user:{CANARY}@127.0.0.1:9"}
    return options | {name: f"{CANARY}-{name}"}


def documented() -> str:
    """The Python block of the section about S3 on the page of Spark."""
    page = (ROOT / "docs" / "plugins" / "spark.md").read_text()
    section = page.partition("\n## Tables on S3\n")[2].partition("\n## ")[0]
    return section.partition("```python\n")[2].partition("```")[0]


def environment(folder: Path, moto: Moto) -> dict[str, str]:
    """What every process finds: credentials in a file, and where S3 is."""
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(AT_DEBUG)
    (folder / "events").mkdir()
    keys = f"aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {CANARY}-ambient\n"
    (folder / "credentials").write_text(f"[default]\n{keys}\n[etl]\n{keys}")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        "AWS_ENDPOINT_URL": moto.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": REGION,
        **ENVIRONMENT,
        "PYTHONPATH": f"{folder / 'site'}{os.pathsep}{ROOT}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(spark_home(folder / "home")),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }


def submit(folder: Path, moto: Moto, place: dict[str, Any]) -> str:
    """Run the jobs with the plugin as an archive. Returns what the driver prints."""
    with zipfile.ZipFile(folder / PLUGIN, "w") as archive:
        source = ROOT / "plugins" / "spark"
        for path in sorted(source.glob("*_*/**/*.py")):
            archive.write(path, path.relative_to(source))
    (folder / "place.json").write_text(json.dumps(place))
    done = subprocess.run(
        [
            *(str(folder / "home" / "bin" / "spark-submit"), "--master", "local-cluster[2,1,1024]"),
            *("--driver-memory", "1g", "--py-files", str(folder / PLUGIN)),
            *(str(Path(__file__).with_name("cluster.py")), str(folder / "place.json")),
        ],
        cwd=ROOT,
        env=environment(folder, moto),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[done.stdout.rfind("Traceback") :][:10_000]
    return done.stdout


@pytest.fixture(scope="module")
def bucket(moto: Moto) -> str:
    return moto.new_bucket()


@pytest.fixture(scope="module")
def ddb(moto: Moto) -> dict[str, str]:
    """Storage options for S3 and DynamoDB, with the table for commits."""
    options = {**moto.options, "dynamodb_endpoint": moto.endpoint}
    lance_core_dynamodb.create_table("commits", options)
    return options


@pytest.fixture(scope="module")
def told(
    moto: Moto, bucket: str, ddb: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What `tests.cloud.spark.cluster` tells."""
    folder = tmp_path_factory.mktemp("cluster")
    secrets = {
        "aws_secret_access_key": f"{CANARY}-given",
        "aws_session_token": f"{CANARY}-token",
        "aws_sse_customer_key_base64": CUSTOMER_KEY,
        "aws_server_side_encryption": "sse-c",
    }
    moto.client("s3").create_bucket(Bucket="my-bucket")
    place = {
        "jobs": JOBS,
        "bucket": bucket,
        "documented": documented(),
        "folder": str(folder),
        "ambient": {"dynamodb_endpoint": moto.endpoint},
        "given": moto.options | secrets,
        "names": {name: options_of(moto, name) for name in share([*NAMES, *UNKNOWN_NAMES], 6, 0)},
    }
    output = submit(folder, moto, place)
    found: dict[str, Any] = json.loads((folder / "told.json").read_text())
    found["texts"]["the driver's own output"] = output
    return found


def test_the_main_example_runs_on_s3_without_a_word_about_credentials(
    told: dict[str, Any], moto: Moto, bucket: str
) -> None:
    assert told["flights"]["wrong"] == []
    assert told["flights"]["rows"] > 12_000
    lake = Lake(f"s3://{bucket}/lake")
    for library in (lance_core, pylance):
        log = library.dataset(lake.flights, storage_options=moto.options)
        assert log.version == 1 + len(ARRIVING)
        silver = library.dataset(lake.silver, storage_options=moto.options)
        assert silver.count_rows() == told["flights"]["rows"]


def test_both_executors_use_the_plugin_that_the_job_brings(told: dict[str, Any]) -> None:
    assert told["modules"]["executors"] == 2
    assert all(Path(file).parents[1].name == PLUGIN for file in told["modules"]["files"])
    assert told["show"] == ["0", "1"]


def test_a_job_survives_an_executor_that_dies(told: dict[str, Any]) -> None:
    assert told["killed"] == []


def test_dynamodb_decides_about_the_driver_s_commits(
    told: dict[str, Any], ddb: dict[str, str], bucket: str
) -> None:
    assert told["external"] == 12
    uri = f"s3+ddb://{bucket}/numbers.lance?ddbTableName=commits"
    for library in (lance_core, pylance):
        table = library.dataset(uri, storage_options=ddb)
        assert (table.version, table.count_rows()) == (2, 20)


def test_credentials_as_options_reach_executors(told: dict[str, Any]) -> None:
    assert told["given"] == 6 + 12


def test_the_example_of_the_documentation_does_what_it_says(
    told: dict[str, Any], moto: Moto
) -> None:
    assert "assert found" in documented()
    table = lance_core.dataset("s3://my-bucket/numbers.lance", storage_options=moto.options)
    assert (table.version, table.count_rows()) == (2, 2000)


def test_nothing_shows_a_secret(told: dict[str, Any]) -> None:
    texts: dict[str, str] = told["texts"]
    assert len(texts) > 40
    shown = {name: text for name, text in texts.items() if CANARY in text}
    around = {
        name: text[max(0, text.index(CANARY) - 300) : text.index(CANARY) + 50]
        for name, text in shown.items()
    }
    assert not around


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("explain formatted", "BatchScan lance"),
        ("/SQL/", "given.lance"),
        ("/environment", "spark.executorEnv.LANCE_CORE_DISABLE_PLUGINS"),
        ("events_1_", "SparkListenerSQLExecutionStart"),
        ("stderr", "DEBUG:botocore"),
        ("the driver's own output", "DEBUG:botocore"),
        ("view", "id"),
    ],
)
def test_what_was_searched_has_what_it_should(told: dict[str, Any], where: str, what: str) -> None:
    assert any(where in name and what in text for name, text in told["texts"].items())


def test_a_plugin_that_executors_lack_is_named_with_the_process(told: dict[str, Any]) -> None:
    error = told["texts"]["missing plugin"]
    assert "PluginNotFoundError: no plugin provides a commit handler for URL suffix 'sql'" in error
    assert "LANCE_CORE_DISABLE_PLUGINS: 'sql' of lance-core-sql" in error
    assert sys.executable in error


def test_spark_s_own_bridge_shows_options_at_debug(told: dict[str, Any]) -> None:
    """The documentation warns of it: nothing here could hide them."""
    assert CANARY in told["calls"]
