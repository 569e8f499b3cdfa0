"""What users install: every wheel, by extras, in an environment where nothing else is."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.examples import only_on_spark_in_full
from tests.packaging.environments import PLUGINS, PROJECTS, ROOT, Environment, settings
from tests.spark.java import JAVA_OPTIONS

pytestmark = [pytest.mark.wheels, pytest.mark.xdist_group("wheels")]


PROGRAM = """
import importlib.metadata, json, os
import lance_core as lance, pyarrow as pa
from lance_core.plugins import get_manager
from lance_core_text.loops import library as text_loops
from lance_core_vector.loops.library import is_compiled

lance.write_dataset(pa.table({"x": ["text"] * 9}), "compiled.lance")
told = {"kernels": get_manager().encodings.kernels.fsst_decode.__module__}
told["vector"] = is_compiled()
told["text"] = text_loops.is_compiled()
written = lance.write_dataset(pa.table({"x": range(1000)}), "table.lance")
told["table"] = written.version, lance.dataset("table.lance").count_rows("x >= 10")
uri = "file+sql://" + os.path.abspath("decided.lance")
lance.write_dataset(pa.table({"x": range(10)}), uri)
lance.write_dataset(pa.table({"x": range(10)}), uri, mode="append")
decided = os.path.exists("decided.lance.manifests.sqlite")
told["sql"] = lance.dataset(uri).count_rows(), decided
core = importlib.metadata.distribution("lance-core")
told["core"] = core.version, core.requires
points = importlib.metadata.entry_points(group="lance_core")
told["points"] = [point.name for point in points if point.load()]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(installed: Environment) -> dict[str, Any]:
    """What a process of the environment says after it has used the parts."""
    said: dict[str, Any] = json.loads(installed.python(PROGRAM))
    return said


def held(wheel: Path) -> list[str]:
    """The files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_every_project_gives_one_wheel_with_its_types_and_its_licence(wheels: Path) -> None:
    assert len(list(wheels.iterdir())) == len(PROJECTS)
    (core,) = wheels.glob("lance_core-0*")
    names = held(core)
    assert "lance_core/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert all(name.startswith(("lance_core/", "lance_core-")) for name in names)


def test_every_plugin_has_an_extra_of_the_same_release(told: dict[str, Any]) -> None:
    version, requirements = told["core"]
    for project in PLUGINS:
        name, extra = settings(project)["name"], project.name
        assert settings(project)["version"] == version
        assert f"{name}=={version}; extra == {extra!r}" in requirements
        assert f"lance-core=={version}" in settings(project)["dependencies"]
    assert settings(ROOT)["name"] == "lance-core"


def test_the_inner_loops_are_compiled_and_in_use(told: dict[str, Any], wheels: Path) -> None:
    for package in ("lance_core_kernels", "lance_core_text", "lance_core_vector"):
        (wheel,) = wheels.glob(f"{package}-*")
        assert "-cp311-abi3-" in wheel.name
        assert held(wheel).count(f"{package}/_native.abi3.so") == 1
    assert told["kernels"] == "lance_core_kernels.strings"
    assert told["text"]
    assert told["vector"]


def test_a_wheel_holds_its_library_with_signatures_and_without_sources(wheels: Path) -> None:
    for package in ("lance_core_kernels", "lance_core_text", "lance_core_vector"):
        (wheel,) = wheels.glob(f"{package}-*")
        names = held(wheel)
        assert f"{package}/_native.pyi" in names
        assert not [name for name in names if name.endswith(".c")]


def test_entry_points_are_found_and_every_plugin_loads(
    installed: Environment, told: dict[str, Any]
) -> None:
    declared = {
        name
        for project in PROJECTS
        for name in settings(project).get("entry-points", {}).get("lance_core", {})
    }
    assert declared
    assert set(told["points"]) == declared
    listed = installed.command("lance-core", "plugins")
    assert "failed" not in listed.lower()
    assert [name for name in declared if name not in listed] == []


def test_a_table_is_written_and_read(told: dict[str, Any]) -> None:
    assert told["table"] == [1, 990]


def test_a_sql_database_decides_about_commits(told: dict[str, Any]) -> None:
    assert told["sql"] == [20, True]


def test_spark_finds_the_format_where_it_looks_for_formats(installed: Environment) -> None:
    """By the name of a module, as Spark's own process does."""
    told = installed.python(
        "import pkgutil, sys, warnings\n"
        "warnings.simplefilter('ignore')\n"  # of the versions that PySpark knows
        "import pyarrow as pa\n"
        "from pyspark.sql.datasource import DataSource\n"
        "names = [one.name for one in pkgutil.iter_modules() if one.name.startswith('pyspark_')]\n"
        "(source,) = [found for name in names\n"
        "    if (found := getattr(__import__(name), 'DefaultSource', None))]\n"
        "assert issubclass(source, DataSource) and source.name() == 'lance'\n"
        "from pyspark.sql.types import LongType, StructType\n"
        "options, schema = {'path': 'found.lance'}, StructType().add('id', LongType())\n"
        "writer = source(options).writer(schema, False)\n"
        "rows = pa.record_batch({'id': pa.array(range(100), pa.int64())})\n"
        "writer.commit([writer.write(iter([rows]))])\n"
        "reader = source(options).reader(source(options).schema())\n"
        "batches = [batch for one in reader.partitions() for batch in reader.read(one)]\n"
        "print(pa.Table.from_batches(batches).num_rows)\n"
    )
    assert told.split()[-1] == "100"


@only_on_spark_in_full
@pytest.mark.spark
def test_spark_knows_the_format_without_registration(installed: Environment) -> None:
    told = installed.python(
        "import os, sys\n"
        "os.environ['PYSPARK_PYTHON'] = sys.executable\n"
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false')"
        f".config('spark.driver.extraJavaOptions', '{JAVA_OPTIONS}')"
        ".config('spark.sql.codegen.wholeStage', 'false')"
        ".config('spark.sql.codegen.factoryMode', 'NO_CODEGEN')"
        ".config('spark.sql.shuffle.partitions', '1').getOrCreate()\n"
        "spark.range(0, 100, 1, 1).write.format('lance').mode('append').save('spark.lance')\n"
        "print(spark.read.format('lance').load('spark.lance').where('id >= 10').count())\n"
        "spark.stop()"
    )
    assert told.split()[-1] == "90"
