"""Jobs that ``spark-submit`` runs on a cluster of two executors; ``sys.argv``: a file of JSON.

It has ``jobs`` (names of methods of `Jobs`), ``bucket``, ``folder`` (of this machine), ``ambient``
and ``given`` (storage options, without and with credentials; the latter are secret), ``names``
(options for each name of a secret) and ``documented`` (code of the documentation). What came of
the jobs, and every text in which Spark shows something of them, become the file ``told.json``.

The plugin comes with ``--py-files``: executors import it from the files that Spark sends them.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from examples.flights import check
from examples.flights.pipeline import STEPS, Results
from examples.flights.progress import Progress
from examples.flights.source import Source
from examples.flights.spark import SparkEngine
from examples.flights.tables import Lake
from tests.spark.faults.faulty_source import java_above
from tests.spark.faults.pipeline import Pipeline

T = TypeVar("T")

EXPLAINED = ("simple", "extended", "codegen", "cost", "formatted")
REDACTED = "(?i)secret|passw|token|credential|private|sas|sig|key|proxy"
"""As the documentation says; what Spark knows by itself are fewer names."""

NOT_ON_EXECUTORS = "lance-core-sql"
ONE_IN = 25
"""Flights of the main example that are used."""

CODE_GENERATION = {
    "spark.sql.codegen.wholeStage": ("true", "false"),
    "spark.sql.codegen.factoryMode": ("FALLBACK", "NO_CODEGEN"),
}
"""Settings by which Spark compiles queries, or does not."""


def start(folder: Path) -> SparkSession:
    """A session that shows and records all it can."""
    return (
        SparkSession.builder.config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config(map={name: off for name, (_, off) in CODE_GENERATION.items()})
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.files.openCostInBytes", "65536")  # small files are for both executors
        .config("spark.executorEnv.LANCE_CORE_DISABLE_PLUGINS", NOT_ON_EXECUTORS)
        .config("spark.task.maxFailures", "3")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", (folder / "events").as_uri())
        .config("spark.eventLog.compress", "false")
        .config("spark.redaction.regex", REDACTED)
        .config("spark.ui.port", "0")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


@dataclass(slots=True)
class Jobs:
    """What is done; ``texts`` collects what Spark shows of it, by where."""

    spark: SparkSession
    place: dict[str, Any]
    texts: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def timed(self, job: Callable[[], T]) -> T:
        """Run a job and note how long it takes."""
        started = time.perf_counter()
        result = job()
        self.seconds[job.__name__] = round(time.perf_counter() - started, 1)
        return result

    def flights(self) -> dict[str, Any]:
        """The main example. No credentials are given: every process finds them by itself."""
        source = Source.unpack(Path(self.place["folder"]))
        flights = source.csv("flights")
        lines = flights.read_text().splitlines(keepends=True)
        flights.write_text("".join([lines[0], *lines[1::ONE_IN]]))
        source.split()
        lake = Lake(f"s3://{self.place['bucket']}/lake")
        engine = SparkEngine(source, lake)
        with Progress(STEPS, io.StringIO()) as progress:
            results = Results.of(engine, lake, progress)
        return {"wrong": check.differences(source, lake, results), "rows": results.rows}

    def modules(self) -> dict[str, Any]:
        """How many executors there are, and the files that they import the plugin from."""
        rows = self.spark.range(0, 10, 1, 2)
        tasks = rows.mapInArrow(_where, "executor long, file string").collect()
        executors = {row["executor"] for row in tasks}
        return {"executors": len(executors), "files": sorted({row["file"] for row in tasks})}

    def killed(self) -> list[str]:
        """An executor dies in the middle of a task that reads one table and writes another."""
        pipeline = Pipeline("batch", str(Path(self.place["folder"], "killed")), "rows", "java")
        pipeline.prepare()
        pipeline.run(self.spark)
        return pipeline.wrong()

    def external(self) -> int:
        """A table whose versions DynamoDB decides; credentials as above."""
        uri = f"s3+ddb://{self.place['bucket']}/numbers.lance?ddbTableName=commits"
        for _ in range(2):
            self._write(uri, self.place["ambient"])
        return self._load(uri, self.place["ambient"]).where("id > 3").count()

    def documented(self) -> None:
        """The example of the documentation, word for word."""
        exec(self.place["documented"], {"spark": self.spark})

    def given(self) -> int:
        """Credentials and an encryption key as options, also those of a view.

        Spark compiles these queries, as it does by default, and shows the code.
        """
        with self._code_generation():
            return self._given()

    def _given(self) -> int:
        uri, options = f"s3://{self.place['bucket']}/given.lance", self.place["given"]
        self._write(uri, options)
        frame = self._load(uri, options).where("id > 3")
        rows = frame.count()
        for mode in EXPLAINED:
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                frame.explain(mode=mode)
            self.texts[f"explain {mode}"] = told.getvalue()
        self.texts["frame"] = f"{frame!r} {frame.schema.json()} {frame.inputFiles()}"
        listed = ", ".join(f"{name} '{value}'" for name, value in options.items())
        self.spark.sql(f"CREATE TEMPORARY VIEW v USING lance OPTIONS (path '{uri}', {listed})")
        self.spark.sql("INSERT INTO v SELECT id FROM range(10)")
        self.texts["view"] = repr(self.spark.sql("DESCRIBE EXTENDED v").collect())
        return rows + self._load(uri, options).where("id > 3").count()

    @contextlib.contextmanager
    def _code_generation(self) -> Iterator[None]:
        """Let Spark compile the queries of a block, as it does by default."""
        for name, (on, _) in CODE_GENERATION.items():
            self.spark.conf.set(name, on)
        try:
            yield
        finally:
            for name, (_, off) in CODE_GENERATION.items():
                self.spark.conf.set(name, off)

    def every_name(self) -> None:
        """Plans of reads that were given one secret more, under each of its names."""
        uri = f"s3://{self.place['bucket']}/flights.lance"
        for name, options in self.place["names"].items():
            try:
                frame = self._load(uri, options)
                told = frame._jdf.queryExecution().toString()  # type: ignore[operator]
            except PySparkException as error:
                told = str(error)
            self.texts[f"plan with {name}"] = told

    def without_plugin(self) -> None:
        """A job of whose plugins executors lack one."""
        uri = f"s3+sql://{self.place['bucket']}/decided.lance"
        database = f"sqlite:///{self.place['folder']}/commits.sqlite"
        try:
            self._write(uri, self.place["given"] | {"sqlUrl": database})
        except PySparkException as error:
            self.texts["missing plugin"] = str(error)

    def calls(self) -> str:
        """What Spark's bridge to Java logs at DEBUG, of which nothing here knows."""
        told = io.StringIO()
        bridge, handler = logging.getLogger("py4j"), logging.StreamHandler(told)
        bridge.addHandler(handler)
        bridge.setLevel(logging.DEBUG)
        bridge.propagate = False
        self.spark.read.option("aws_secret_access_key", self.place["given"]["aws_session_token"])
        bridge.setLevel(logging.INFO)
        bridge.removeHandler(handler)
        return told.getvalue()

    def show(self) -> list[str]:
        """Collect what Spark's pages and interfaces tell; returns which executors had tasks."""
        spark = self.spark
        conf = dict(spark.sparkContext.getConf().getAll())
        self.texts["conf"] = json.dumps(conf) + repr(spark.sql("SET -v").collect())
        root = str(spark.sparkContext.uiWebUrl)
        api = f"/api/v1/applications/{spark.sparkContext.applicationId}"
        executions = json.loads(_page(f"{root}{api}/sql?length=1000"))
        jobs = json.loads(_page(f"{root}{api}/jobs"))
        pages = ["/jobs/", "/stages/", "/SQL/", "/environment/", "/executors/", "/storage/"]
        pages += [f"/SQL/execution/?id={each['id']}" for each in executions]
        pages += [f"/jobs/job/?id={each['jobId']}" for each in jobs]
        pages += [f"{api}/sql?details=true&planDescription=true&length=1000"]
        pages += [f"{api}/{what}" for what in ("environment", "jobs", "stages?details=true")]
        for page in pages:
            self.texts[page] = _page(root + page)
        executors = json.loads(_page(f"{root}{api}/executors"))
        return sorted(each["id"] for each in executors if each["completedTasks"])

    def _load(self, uri: str, options: dict[str, str]) -> DataFrame:
        return self.spark.read.format("lance").options(**options).load(uri)

    def _write(self, uri: str, options: dict[str, str]) -> None:
        rows = self.spark.range(0, 10, 1, 2)
        rows.write.format("lance").mode("append").options(**options).save(uri)


def _where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The executor of a task, and the file that it imports the plugin from."""
    import lance_core_spark

    for _ in batches:
        pass
    time.sleep(1)  # the other executor takes the other task
    found = {"executor": [java_above(os.getpid())], "file": [lance_core_spark.__file__]}
    yield pa.RecordBatch.from_pydict(found)


def _page(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return str(answer.read().decode())


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with contextlib.suppress(OSError):  # Spark removes some meanwhile
                yield f"{path}", path.read_bytes().decode("latin-1")


def main() -> None:
    """Do the jobs and tell."""
    started = time.perf_counter()
    place = json.loads(Path(sys.argv[1]).read_text())
    spark = start(Path(place["folder"]))
    jobs = Jobs(spark, place, seconds={"start": time.perf_counter() - started})
    told: dict[str, Any] = {name: jobs.timed(getattr(jobs, name)) for name in place["jobs"]}
    jobs.texts |= dict(_files(Path(os.environ["SPARK_LOCAL_DIRS"])))
    spark.stop()
    jobs.texts |= dict(_files(Path(place["folder"], "events")))
    jobs.texts |= dict(_files(Path(os.environ["SPARK_HOME"], "work")))
    told |= {"texts": jobs.texts, "seconds": jobs.seconds}
    Path(place["folder"], "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
