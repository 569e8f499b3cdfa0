"""Run the tests of the compiled inner loops with AddressSanitizer and UndefinedBehaviorSanitizer.

The libraries are compiled anew, into a folder of their own. Python itself is not instrumented, so
the sanitizers are loaded before it; memory comes from malloc, which is where they watch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLUGINS = {
    "kernels": "tests/kernels",
    "text": "tests/text/loops",
    "vector": "tests/vector/loops",
}
"""The plugins with inner loops, and where their tests are."""

FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"


def runtime(name: str) -> str:
    """Where the compiler has one of its libraries."""
    compiler = os.environ.get("CC", "gcc").split()
    return subprocess.run(
        [*compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
    ).stdout.strip()


def checked(folder: Path, plugin: str, flags: str, arguments: list[str]) -> int:
    """The exit code of pytest, or of the sanitizer that ended it, with a library of its own."""
    from hatch_build import LIBRARY, compile_library, package_of

    root = ROOT / "plugins" / plugin
    package = folder / package_of(root).name
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(package_of(root), package, ignore=ignored, dirs_exist_ok=True)
    os.environ["CFLAGS"] = f"{FLAGS} {flags}"
    compile_library(root, package / LIBRARY)
    environment = os.environ | {
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "ASAN_OPTIONS": "detect_leaks=0",
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libubsan.so')}",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    tests = sorted((ROOT / PLUGINS[plugin]).glob("test_same_*.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-s", *map(str, tests), *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def main(arguments: list[str]) -> int:
    """All loops as this processor runs them, then what is different for processors of old."""
    sys.path.insert(0, str(ROOT / "plugins" / "kernels"))
    with tempfile.TemporaryDirectory() as folder:
        return max(
            checked(Path(folder), plugin, flags, arguments)
            for plugin in PLUGINS
            for flags in ("", "-DPLAIN_C")
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
