"""Installing the plugin is enough, and nothing is lost without it or without a compiler."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lance_core.encodings.kernels import ALL_LOOPS, LOOPS, NUMPY_KERNELS, Kernels
from lance_core_kernels.compiled import COMPILED_KERNELS

PLUGIN = Path(__file__).parents[2] / "plugins" / "kernels"
NO_COMPILERS = {
    "there-is-no-such-compiler": "no compiler could be run: [Errno 2] No such file",
    "false": "the compiler false failed: it printed nothing",
    "unknown": "no compiler could be run: this Python names no C compiler",
}
"""Values of CC, or "unknown" where neither Python nor CC names one; and why nothing is compiled."""
WHOSE = (
    "from lance_core.plugins.manager import get_manager\n"
    "loop = get_manager().encodings.kernels.fsst_decode\n"
    "print(loop.__module__, len(get_manager().failures))"
)


def told(code: str, *arguments: str, **environ: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | environ,
        cwd=PLUGIN.parents[1],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


BUILDING = """
import os, sys, sysconfig
from hatchling.build import build_wheel

known = sysconfig.get_config_vars
def as_on_windows(*names):
    lacking = ("LDSHARED", "CC", "CCSHARED")
    return known(*names) if names else {k: v for k, v in known().items() if k not in lacking}

for folder, compiler in zip(sys.argv[1::2], sys.argv[2::2]):
    if compiler == "unknown":
        sysconfig.get_config_vars = as_on_windows
        os.environ.pop("CC", None)
    else:
        os.environ["CC"] = compiler
    os.makedirs(folder)
    build_wheel(folder)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The plugin's wheel by the compiler. `tests.packaging` has that of a compiler that works."""
    folder = tmp_path_factory.mktemp("wheels")
    folders = {compiler: folder / compiler for compiler in NO_COMPILERS}
    command = [sys.executable, "-c", BUILDING]
    for compiler, own in folders.items():
        command += [str(own), compiler]
    subprocess.run(command, cwd=PLUGIN, check=True, capture_output=True)
    return {compiler: next(own.iterdir()) for compiler, own in folders.items()}


def test_the_compiled_kernels_are_used_once_plugins_are_looked_for() -> None:
    assert told(WHOSE) == ["lance_core_kernels.strings", "0"]


def test_the_plugin_can_be_disabled() -> None:
    module = "lance_core.encodings.kernels.numpy.fsst_decode"
    assert told(WHOSE, LANCE_CORE_DISABLE_PLUGINS="kernels") == [module, "0"]


def test_importing_the_package_loads_no_library() -> None:
    code = "import lance_core, sys; print([m for m in sys.modules if 'kernels' in m])"
    assert told(code) == ["[]"]


@pytest.mark.parametrize("compiler", NO_COMPILERS)
def test_without_a_compiler_the_wheel_is_built_without_the_library(
    built: dict[str, Path], tmp_path: Path, compiler: str
) -> None:
    assert built[compiler].name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(built[compiler]) as wheel:
        assert not [file for file in wheel.namelist() if file.endswith(".so")]
        wheel.extractall(tmp_path)
    code = "from lance_core.cli import main; main(['plugins'])"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "  kernels compiled: none\n    not compiled, numpy is used: " in shown
    assert NO_COMPILERS[compiler] in shown


def test_without_the_library_numpy_is_used() -> None:
    hidden = "import importlib.util as u; u.find_spec = lambda name, found=u.find_spec: (\n"
    hidden += "    None if name.endswith('_native') else found(name))\n"
    assert told(hidden + WHOSE) == ["lance_core.encodings.kernels.numpy.fsst_decode", "0"]


STALE = """
import sys, types
from lance_core_kernels import _native

stale = types.ModuleType("_native")
stale.__dict__.update({name: one for name, one in vars(_native).items() if name != "INTERFACE"})
sys.modules["lance_core_kernels._native"] = stale
sys.modules["lance_core_kernels"]._native = stale
"""


def test_a_library_of_other_sources_is_reported_and_numpy_is_used() -> None:
    assert told(STALE + WHOSE) == ["lance_core.encodings.kernels.numpy.fsst_decode", "1"]


WRITING = """
import hashlib, pathlib, sys
import numpy as np, pyarrow as pa
import lance_core as lance
from lance_core.encodings.kernels import NUMPY
from lance_core.plugins import get_manager

words = np.array(["http://", "quick ", "brown ", "fox ", "ä€"], object)
texts = ["".join(words[row]) for row in np.random.default_rng(4).integers(0, 5, (3000, 7))]
kind = pa.field("text", pa.string(), metadata={"lance-encoding:compression": "fsst"})
table = pa.table({"text": texts}, pa.schema([kind]))
written = lance.write_dataset(table, sys.argv[1])
assert written.to_table() == table
assert written.take([2900, 3])["text"].to_pylist() == [texts[2900], texts[3]]
(file,) = pathlib.Path(sys.argv[1], "data").iterdir()
stored = file.read_bytes()
is_plain = get_manager().encodings.kernels.fsst_decode is NUMPY.fsst_decode
print(hashlib.sha256(stored).hexdigest(), b"TSSF" in stored, is_plain)
"""


def test_files_are_the_same_with_and_without_the_plugin(tmp_path: Path) -> None:
    with_it = told(WRITING, str(tmp_path / "with"))
    without = told(WRITING, str(tmp_path / "without"), LANCE_CORE_DISABLE_PLUGINS="kernels")
    assert with_it == [without[0], "True", "False"]
    assert without[1:] == ["True", "True"]


IN_A_CHILD = """
import multiprocessing, sys
import pyarrow as pa
import lance_core as lance
from lance_core.file import LanceFileReader, LanceFileWriter


def loop(path):
    from lance_core.plugins import get_manager

    assert LanceFileReader(path).read_all().to_table().num_rows == 3  # no table is opened
    return get_manager().encodings.kernels.fsst_decode.__module__


if __name__ == "__main__":
    table = pa.table({"x": ["a", "b", "c"]})
    with LanceFileWriter(sys.argv[1], table.schema) as writer:
        writer.write_batch(table)
    print(loop(sys.argv[1]))
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.apply(loop, sys.argv[1:]))
"""


def test_forked_and_spawned_processes_and_files_without_a_table_use_the_compiled_kernels(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.py"
    script.write_text(IN_A_CHILD)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "x.lance")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["lance_core_kernels.strings"] * 3


def test_every_loop_is_compiled_and_declared_as_the_table_says() -> None:
    assert set(NUMPY_KERNELS.loops) == set(LOOPS)
    assert set(COMPILED_KERNELS.loops) == set(ALL_LOOPS)
    for spec in (NUMPY_KERNELS, COMPILED_KERNELS):
        for name in LOOPS:
            declared = inspect.signature(getattr(Kernels, name)).parameters
            found = inspect.signature(spec.loops[name]).parameters
            assert [*found] == [*declared][1:], (spec.name, name)
