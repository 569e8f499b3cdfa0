"""Parts of the library are imported when they are needed, with descriptors left or none."""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lance_core
from lance_core.imports.on_demand import Part, without_collections
from tests.each_case import each_case

PACKAGE = Path(lance_core.__file__).parent

SCRIPT = """
import os, resource, signal, sys, threading, time, traceback
import pyarrow as pa
import lance_core as lance
from lance_core.errors import LanceError, StoreError

uri, canary, table = sys.argv[1], "canary8f1eQ3zT7c9Kd2", pa.table({"x": [1, 2, 3]})
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
options = {"vault_timeout": canary}  # of the example plugin; local tables ignore it
dataset = None

VERBS = {
    "dataset": lambda: lance.dataset(uri, storage_options=options),
    "file": lambda: lance.file.LanceFileReader,
    "write": lambda: lance.write_dataset(table, uri, mode="append", storage_options=options),
    "read": lambda: dataset.to_table(),
    "take": lambda: dataset.take([1]),
    "filter": lambda: dataset.to_table(filter="x > 1"),
    "arrow filter": lambda: dataset.to_table(filter=pa.compute.field("x") > 1),
    "append": lambda: lance.write_dataset(table, dataset, mode="append"),
    "delete": lambda: dataset.delete("x > 9"),
}

def starved(verb, left):
    # In a child, so that nothing is loaded that the verb itself does not load.
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        for _ in range(left):
            os.close(held.pop())
    problem = None
    try:
        verb()
    except LanceError as error:
        found = traceback.TracebackException.from_exception(error, capture_locals=True)
        ours = [f for f in found.stack if os.sep + "lance_core" + os.sep in f.filename]
        if canary in repr([f.locals for f in ours]):
            problem = "shows a secret"
        elif not isinstance(error, StoreError) or "open" not in str(error):
            problem = f"says {error!r}"
    except BaseException as error:
        problem = f"raises {error!r}"
    for descriptor in held:
        os.close(descriptor)
    return problem

def tried():
    for name, verb in VERBS.items():
        for left in range(2):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(write, repr(starved(verb, left)).encode())
                os._exit(0)
            os.close(write)
            found = os.read(read, 1 << 16).decode()
            os.close(read)
            os.waitpid(child, 0)
            if found != "None":
                yield f"{name} with {left} left {found}"

later = {name: VERBS.pop(name) for name in list(VERBS)[3:]}
problems = list(tried())
# Opened, and nothing else: what reads and writes is not loaded yet.
dataset = lance.dataset(uri)
VERBS = later
problems += tried()
print(problems)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_too_many_open_files_is_an_error_of_ours_wherever_it_strikes(tmp_path: Path) -> None:
    uri = str(tmp_path / "table")
    lance_core.write_dataset({"x": [1, 2, 3]}, uri)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SCRIPT, uri]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


ELSEWHERE = {
    "pandas": "the user asks for data frames",
    "datafusion": "is an optional engine, for expressions that the library does not evaluate",
    "lance_core.dataset.expressions.datafusion": "serves it",
    "ml_dtypes": "the user asks for its arrays",
    "google_crc32c": "is optional, for checksums without the compiled loop",
    "tqdm": "is optional, for progress bars",
    "importlib": "is loaded as Python starts",
    "lance_core": "the package itself",
    "pyarrow": "is loaded by all that reads or writes",
    "lance_core.dataset": "by `Part.TABLES`",
    "lance_core.imports.on_demand": "is loaded with the package",
    "lance_core.hookspecs": "by `lance_core.plugins.builtin`",
    "lance_core.table.manifest.plain_fields": "is small, and the schemas of few tables need it",
    "lance_core.schema.plain_fields": "likewise",
    "lance_core.schema.json.encoding": "few tables have columns of JSON",
    "lance_core.schema.json.values": "likewise",
}


INDENTED = re.compile(r"^\s+(from|import)\s", re.MULTILINE)
"""An import within something. Most modules have none, and need not be parsed."""


def imported_by_functions() -> set[str]:
    """The modules that functions of the package import."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] == "_pb":
            continue
        text = path.read_text()
        if not INDENTED.search(text):
            continue
        functions = [
            node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
        ]
        for node in (one for function in functions for one in ast.walk(function)):
            if isinstance(node, ast.ImportFrom):
                found.add(str(node.module))
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
    return found


def test_what_functions_import_is_loaded_with_a_part() -> None:
    names = sorted(imported_by_functions() - set(ELSEWHERE))
    assert len(names) >= 15
    parts = [name for part in Part for name in part.value]
    code = (
        "import importlib, sys, lance_core\n"
        f"for name in {parts!r}: importlib.import_module(name)\n"
        f"print([name for name in {names!r} if name not in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


COUNT = """
import json, os, sys
import lance_core as lance
import pyarrow as pa

uri, seen, sizes = sys.argv[1], set(), {}

def count(verb):
    new = [name for name in set(sys.modules) - seen if name.split(".")[0] == "lance_core"]
    seen.update(new)
    sizes[verb] = {name: os.path.getsize(sys.modules[name].__file__) for name in new}

count("import")
column = pa.arange(0, 1000)
texts = column.cast(pa.string())
long = pa.compute.binary_join_element_wise(*[texts] * 20)
same = pa.concat_arrays([long[:10]] * 100)
columns = {"x": column, "s": texts, "long": long, "same": same}
lance.write_dataset(pa.table(columns), uri)
count("write")
dataset = lance.dataset(uri)
count("open")
dataset.to_table()
count("read")
dataset.to_table(filter="x > 5")
count("filter")
dataset.take([3, 500])
count("take")
dataset.take([500, 3, 500])
dataset.take(list(range(1000))[::-1])
dataset.scanner().take([500, 3])
count("take in any order")
dataset.delete("x > 900")
count("delete")
print(json.dumps({"sizes": sizes, "pandas": "pandas" in sys.modules}))
"""

MAX_KILOBYTES = {
    "import": 33,
    "write": 2270,
    "open": 8,
    "read": 240,
    "filter": 210,
    "take": 5,
    "take in any order": 5,
    "delete": 5,
}
"""Source of this package, in thousands of bytes, that each verb may import after those before it:
the time of an import follows its size, not the number of files that it is divided into."""


def test_each_verb_imports_little_code_and_no_pandas(tmp_path: Path) -> None:
    command = [sys.executable, "-c", COUNT, str(tmp_path / "table")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["LANCE_CORE_DISABLE_PLUGINS"] = "all"
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    reported = json.loads(done.stdout)
    sizes: dict[str, dict[str, int]] = reported["sizes"]
    assert sizes.keys() == MAX_KILOBYTES.keys()
    for verb, modules in sizes.items():
        listed = "\n".join(f"{size:>8} {name}" for name, size in sorted(modules.items()))
        total = sum(modules.values()) / 1000
        assert total <= MAX_KILOBYTES[verb], f"{verb} imports {total:.0f} kB:\n{listed}"
    assert not reported["pandas"], "`pa.array` and `pa.scalar` import pandas: see numpy_values"


WITH_PLUGINS = """
import sys
import pyarrow, pluggy, pyroaring, google.protobuf
before = set(sys.modules)
import lance_core
# Arrow would import pandas to convert values of Python.
x = pyarrow.Array.from_buffers(pyarrow.int8(), 9, [None, pyarrow.py_buffer(bytes(range(9)))])
dataset = lance_core.write_dataset(pyarrow.table([x], ["x"]), sys.argv[1])
assert dataset.to_table(filter="x > 5").num_rows == 3
assert dataset.take([3]).num_rows == 1
new = {name: sys.modules[name] for name in set(sys.modules) - before}
places = {name: getattr(module, "__file__", None) or "" for name, module in new.items()}
foreign = {name.split(".")[0] for name, place in places.items() if "-packages" in place}
ours = {name for name in foreign if name.startswith("lance_core")}
print(sorted(foreign - ours - {"pyarrow", "numpy", "google"}))
print([name for name in new if name.startswith("lance_core_cli.verifying")])
"""


def test_plugins_that_are_not_used_import_no_packages(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITH_PLUGINS, str(tmp_path / "table")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("LANCE_CORE_DISABLE_PLUGINS", None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[]\n[]\n"


@each_case("enabled", [True, False])
def test_the_garbage_collector_pauses_during_imports_and_is_then_as_before(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with contextlib.suppress(ZeroDivisionError), without_collections():
            with without_collections():
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise ZeroDivisionError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


COLLECTED = """
import gc
from lance_core.imports.on_demand import without_collections
with without_collections():
    imported = []
assert any(item is imported for item in gc.get_objects(generation=2))
gc.freeze()
with without_collections():
    pass
assert gc.get_freeze_count() > 0
"""


def test_collections_do_not_visit_what_was_imported_and_objects_stay_frozen() -> None:
    # In a process of its own, because the tests freeze objects, too.
    subprocess.run([sys.executable, "-c", COLLECTED], check=True)


FORK = """
import os, signal, sys, threading, time
from lance_core.imports import on_demand

begun = threading.Event()
sys.path.insert(0, sys.argv[1])
sys.begun = begun
thread = threading.Thread(target=on_demand.import_module, args=["slow_module"])
thread.start()
begun.wait(60)
child = os.fork()
if child == 0:
    signal.alarm(20)
    on_demand.import_module("slow_module")
    os._exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
thread.join()
sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_is_not_forked_in_the_middle_of_an_import(tmp_path: Path) -> None:
    (tmp_path / "slow_module.py").write_text(
        "import sys, time\nsys.begun.set()\ntime.sleep(0.2)\n", encoding="utf-8"
    )
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(tmp_path)]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0
