"""Each distribution at the lowest versions that it allows, in an environment with nothing else.

``python -m tests.packaging.lowest [NAME …]``: names of folders in ``plugins/``, or ``core``.
A distribution is installed with its direct requirements, and those of the distributions of this
checkout that it requires, at their lowest versions, and is used by a program.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from packaging.requirements import Requirement

import lance_core_dynamodb
from scripts.install import run_uv
from tests.packaging.environments import PLUGINS, ROOT, Environment, run, settings
from tests.servers.azurite import running_azurite
from tests.servers.gcs import running_gcs
from tests.servers.moto import running_moto
from tests.spark.java import ENVIRONMENT

HERE = Path(__file__).parent
PROJECTS = {"core": ROOT} | {path.name: path for path in PLUGINS}
NAMES = {settings(path)["name"]: name for name, path in PROJECTS.items()}
TABLE = HERE / "table.py"

KERNELS = """
from lance_core.plugins.manager import get_manager
assert get_manager().encodings.kernels.fsst_decode.__module__ == "lance_core_kernels.strings"
"""
"""What is asserted after a program of the kernels."""

FSSPEC = """
import os, sys, fsspec, lance_core_fsspec, lance_core as lance
files = fsspec.filesystem("file")
uri = lance_core_fsspec.register_file_system("disk", files, os.path.abspath("t.lance"))
table = lance.dataset(uri)
assert table.count_rows("id IN (3, 1500, 2009)") == 3
assert table.count_rows() == 2000
"""
"""Reads what the program of a table has written; the plugin does not commit to local files."""

INDICES = """
import lance_core as lance
table = lance.dataset("t.lance")
kinds = [index.index_type for index in table.describe_indices()]
assert kinds == ["ZoneMap", "BTree", "Bitmap"], kinds
assert "@id_idx(BTree)" in table.scanner(filter="id = 3").explain_plan()
"""
"""What is asserted after a program of the indices."""

FUNCTIONS = """
import lance_core as lance
table = lance.dataset("t.lance")
assert table.count_rows("upper(text) = 'ROW 11' AND length(kind) = 6") == 1
"""
"""What is asserted after a program of the functions."""

CLI = """
from lance_core.cli import main
assert main(["inspect", "t.lance", "--html", "t.html"]) == 0
assert main(["verify", "t.lance"]) == 0
"""
"""Looks at what the program of a table has written."""

OTEL = """
import lance_core as lance
from lance_core.observation import OBSERVERS
from opentelemetry import metrics

class Meters(metrics.NoOpMeterProvider):
    pass

metrics.set_meter_provider(Meters())
assert lance.dataset("t.lance").to_table().num_rows == 2000
assert [type(each).__name__ for each in OBSERVERS] == ["OpenTelemetryObserver"]
"""
"""Reports to a provider of an application."""

TEXT = """
import os, lance_core as lance, pyarrow as pa
from lance_core_text.loops.library import is_compiled
assert is_compiled()
rows = pa.table({"text": ["a brown fox", "foxes and hounds", "bread"] * 50})
table = lance.write_dataset(rows, os.path.abspath("texts.lance"))
table.create_scalar_index("text", "INVERTED", with_position=True)
found = table.to_table(full_text_query='"brown foxes"', limit=2)
assert found["text"].to_pylist() == ["a brown fox"] * 2
"""
"""What is asserted after a program of the search for texts."""

VECTOR = """
import os, lance_core as lance, numpy as np, pyarrow as pa
from lance_core_vector.loops.library import is_compiled
assert is_compiled()
vectors = np.random.default_rng(0).random((600, 16), np.float32)
column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 16)
table = lance.write_dataset(pa.table({"vector": column}), os.path.abspath("vectors.lance"))
table.create_index("vector", "IVF_PQ", num_partitions=2, num_sub_vectors=4)
nearest = {"column": "vector", "q": vectors[7], "k": 1, "nprobes": 2, "refine_factor": 9}
assert table.to_table(nearest=nearest)["vector"][0].as_py() == vectors[7].tolist()
"""
"""What is asserted after a program of the search for vectors."""

REMOTE = """
import importlib, pkgutil, lance_core_remote
names = [module.name for module in pkgutil.iter_modules(lance_core_remote.__path__)]
assert {"client", "store", "aws_keys", "botocore_failures"} <= set(names), names
for name in names: importlib.import_module(f"lance_core_remote.{name}")
"""
"""What stores share needs no SDK."""

LEGACY = """
import os, lance_core as lance, pyarrow as pa
rows = pa.table({"id": range(3000), "name": [f"n{i}" for i in range(3000)]})
table = lance.write_dataset(rows, os.path.abspath("old.lance"), data_storage_version="0.1")
assert table.to_table(filter="id = 2900")["name"].to_pylist() == ["n2900"]
"""
"""Writes a table of file version 0.1, and reads it with its statistics."""


def closure(name: str) -> set[str]:
    """The distributions of this checkout that ``name`` requires, and itself."""
    required = {Requirement(text).name for text in settings(PROJECTS[name])["dependencies"]}
    ours = [NAMES[other] for other in required if other in NAMES]
    return {name}.union(*map(closure, ours))


def requirements(name: str) -> list[str]:
    """All that is installed: with the requirements as direct ones, so that uv takes the lowest."""
    chosen = sorted(closure(name))
    direct = {text for each in chosen for text in settings(PROJECTS[each])["dependencies"]}
    return sorted(direct | {settings(PROJECTS[each])["name"] for each in chosen})


def places(name: str, stack: ExitStack) -> tuple[str, dict[str, str]]:
    """The URI and the options of the table that a distribution writes; starts its server."""
    if name in {"s3", "dynamodb"}:
        moto = stack.enter_context(running_moto())
        if name == "s3":
            return f"s3://{moto.new_bucket()}/t.lance", moto.options
        options = moto.options | {"dynamodb_endpoint": moto.endpoint}
        lance_core_dynamodb.create_table("commits", options)
        return "file+ddb://{}/t.lance?ddbTableName=commits", options
    if name == "gcs":
        gcs = stack.enter_context(running_gcs())
        return f"gs://{gcs.new_bucket()}/t.lance", gcs.options
    if name == "azure":
        azurite = stack.enter_context(running_azurite())
        return f"az://{azurite.new_container()}/t.lance", azurite.options
    scheme = {"lease": "file+lease://{}/", "sql": "file+sql://{}/"}.get(name, "{}/")
    return f"{scheme}t.lance", {}


def use(name: str, made: Environment) -> str:
    """What the programs of a distribution print; raises if one fails."""
    if name == "explorer":
        command = ["-I", "-m", "lance_core_explorer", "--short", "--only", "0 faults"]
        told = run(made.folder / "bin" / "python", *command, cwd=made.folder)
        assert "lease/" in told, told
        return told
    if name == "testing":
        pytest = ["-I", "-m", "pytest", "-q", "--noconftest", "-c", os.devnull]
        pytest += ["-p", "no:cacheprovider"]
        return run(made.folder / "bin" / "python", *pytest, HERE / "contract.py", cwd=made.folder)
    program = HERE / "spark.py" if name == "spark" else TABLE
    with ExitStack() as stack:
        uri, options = places(name, stack)
        python = [made.folder / "bin" / "python", "-I"]
        told = run(*python, program, uri.format(made.folder), json.dumps(options), cwd=made.folder)
    every = {"kernels": KERNELS, "fsspec": FSSPEC, "indices": INDICES, "remote": REMOTE}
    every |= {"functions": FUNCTIONS, "text": TEXT, "vector": VECTOR, "cli": CLI, "otel": OTEL}
    checks = {**every, "legacy": LEGACY}.get(name)
    return told + (made.python(checks) if checks else "")


def results(names: list[str], folder: Path) -> Iterator[tuple[str, str | None]]:
    """Each distribution's name, and why it fails at its lowest versions."""
    wheels = folder / "wheels"
    needed = sorted(set().union(*map(closure, names)))
    command = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    run(sys.executable, *command, "--wheel-dir", wheels, *(PROJECTS[each] for each in needed))
    for name in names:
        made = Environment.make(folder / name, wheels)
        chosen = ["--resolution", "lowest-direct", "--find-links", str(wheels), *requirements(name)]
        if run_uv(chosen, made.folder / "bin" / "python"):
            yield name, "its lowest versions cannot be installed"
            continue
        try:
            use(name, made)
        except AssertionError as error:
            yield name, str(error)
        else:
            yield name, None


def main(names: list[str]) -> int:
    """Print a line for each distribution; returns 1 if one fails."""
    failed = False
    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        for name, why in results(names or list(PROJECTS), Path(folder)):
            failed |= why is not None
            seconds = time.monotonic() - start
            sys.stdout.write(f"{name}: {'passed' if why is None else why} ({seconds:.0f} s)\n")
            sys.stdout.flush()
            start = time.monotonic()
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
