"""What users install: every wheel, by extras, in an environment where nothing else is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.packaging.environments import PLUGINS, PROJECTS, ROOT, Environment, run, settings

pytestmark = [pytest.mark.wheels, pytest.mark.xdist_group("wheels")]


def held(wheel: Path) -> list[str]:
    """The files of a wheel."""
    listed = run(sys.executable, "-m", "zipfile", "-l", wheel).splitlines()
    return [line.split()[0] for line in listed[1:]]


def test_every_project_gives_one_wheel_with_its_types_and_its_licence(wheels: Path) -> None:
    assert len(list(wheels.iterdir())) == len(PROJECTS)
    (core,) = wheels.glob("lance_core-0*")
    names = held(core)
    assert "lance_core/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert all(name.startswith(("lance_core/", "lance_core-")) for name in names)


def test_every_plugin_has_an_extra_of_the_same_release(installed: Environment) -> None:
    found = installed.python(
        "import importlib.metadata\n"
        "core = importlib.metadata.distribution('lance-core')\n"
        "print(core.version, *core.requires, sep='\\n')"
    ).splitlines()
    version, requirements = found[0], found[1:]
    for project in PLUGINS:
        name, extra = settings(project)["name"], project.name
        assert settings(project)["version"] == version
        assert f"{name}=={version}; extra == {extra!r}" in requirements
        assert f"lance-core=={version}" in settings(project)["dependencies"]
    assert settings(ROOT)["name"] == "lance-core"


def test_the_kernels_are_compiled_and_in_use(installed: Environment, wheels: Path) -> None:
    (wheel,) = wheels.glob("lance_core_kernels-*")
    assert "-cp311-abi3-" in wheel.name
    told = installed.python(
        "import lance_core as lance, pyarrow as pa\n"
        "from lance_core.encodings import kernels\n"
        "lance.write_dataset(pa.table({'x': ['text'] * 9}), 'compiled.lance')\n"
        "print(kernels.in_use().fsst_decode.__module__)"
    )
    assert told.split() == ["lance_core_kernels.strings"]


def test_entry_points_are_found_and_every_plugin_loads(installed: Environment) -> None:
    declared = {
        name
        for project in PROJECTS
        for name in settings(project).get("entry-points", {}).get("lance_core", {})
    }
    found = installed.python(
        "import importlib.metadata, json\n"
        "points = importlib.metadata.entry_points(group='lance_core')\n"
        "print(json.dumps([point.name for point in points if point.load()]))"
    )
    assert declared
    assert set(json.loads(found)) == declared
    assert "failed" not in installed.command("lance-core", "plugins").lower()
    for name in declared:
        assert name in installed.command("lance-core", "plugins")


def test_a_table_is_written_and_read(installed: Environment) -> None:
    told = installed.python(
        "import lance_core as lance, pyarrow as pa\n"
        "written = lance.write_dataset(pa.table({'x': range(1000)}), 'table.lance')\n"
        "print(written.version, lance.dataset('table.lance').count_rows('x >= 10'))"
    )
    assert told.split() == ["1", "990"]


def test_a_sql_database_decides_about_commits(installed: Environment) -> None:
    told = installed.python(
        "import lance_core as lance, os, pyarrow as pa\n"
        "uri = 'file+sql://' + os.path.abspath('decided.lance')\n"
        "lance.write_dataset(pa.table({'x': range(10)}), uri)\n"
        "lance.write_dataset(pa.table({'x': range(10)}), uri, mode='append')\n"
        "print(lance.dataset(uri).count_rows(), os.path.exists('decided.lance.manifests.sqlite'))"
    )
    assert told.split() == ["20", "True"]


@pytest.mark.spark
def test_spark_knows_the_format_without_registration(installed: Environment) -> None:
    told = installed.python(
        "import os, sys\n"
        "os.environ['PYSPARK_PYTHON'] = sys.executable\n"
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')"
        ".getOrCreate()\n"
        "spark.range(1000).write.format('lance').mode('append').save('spark.lance')\n"
        "print(spark.read.format('lance').load('spark.lance').where('id >= 10').count())\n"
        "spark.stop()"
    )
    assert told.split()[-1] == "990"
