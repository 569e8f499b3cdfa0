"""What users install: every wheel, by extras, in an environment where nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in ROOT.glob("tests/example_*/pyproject.toml"))
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
PROJECTS = [ROOT, *PLUGINS, *EXAMPLES]

pytestmark = [pytest.mark.wheels, pytest.mark.xdist_group("wheels")]


def settings(project: Path) -> dict[str, object]:
    loaded: dict[str, object] = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    return loaded


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK"))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment of its own, with the wheels of this checkout installed by extras."""

    folder: Path
    wheels: dict[str, list[str]]

    def python(self, code: str) -> str:
        return run(self.folder / "bin" / "python", "-I", "-c", code, cwd=self.folder)

    def command(self, name: str, *arguments: str) -> str:
        return run(self.folder / "bin" / name, *arguments, cwd=self.folder)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    wheels = tmp_path_factory.mktemp("wheels")
    for project in PROJECTS:
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", wheels, project)
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder)
    core = settings(ROOT)
    extras = ",".join(core["optional-dependencies"])  # type: ignore[call-overload]
    wanted = [f"lance-core[{extras}]", *(str(settings(example)["name"]) for example in EXAMPLES)]
    run(folder / "bin" / "python", "-m", "pip", "install", "-q", "--find-links", wheels, *wanted)
    listing = {
        wheel.name: run(sys.executable, "-m", "zipfile", "-l", wheel).splitlines()
        for wheel in wheels.iterdir()
    }
    return Environment(folder, listing)


def test_every_project_gives_one_wheel_with_its_types_and_its_licence(
    installed: Environment,
) -> None:
    assert len(installed.wheels) == len(PROJECTS)
    (core,) = [files for name, files in installed.wheels.items() if name.startswith("lance_core-0")]
    held = [line.split()[0] for line in core]
    assert "lance_core/py.typed" in held
    assert any(name.endswith("licenses/LICENSE") for name in held)
    assert all(name.startswith(("lance_core/", "lance_core-")) for name in held[1:])


def test_the_kernels_are_compiled_and_in_use(installed: Environment) -> None:
    (name,) = [name for name in installed.wheels if name.startswith("lance_core_kernels-")]
    assert "-cp311-abi3-" in name
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
        for name in settings(project).get("entry-points", {}).get("lance_core", {})  # type: ignore[attr-defined]
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
