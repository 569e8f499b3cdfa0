"""Run the tests of the compiled kernels with AddressSanitizer and UndefinedBehaviorSanitizer.

The library is compiled anew, into a folder of its own. Python itself is not instrumented, so the
sanitizers are loaded before it; memory comes from malloc, which is where they watch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "plugins" / "kernels"
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"


def runtime(name: str) -> str:
    """Where the compiler has one of its libraries."""
    compiler = os.environ.get("CC", "gcc").split()
    return subprocess.run(
        [*compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
    ).stdout.strip()


def checked(folder: str, tests: list[Path], flags: str, arguments: list[str]) -> int:
    """The exit code of pytest, or of the sanitizer that ended it, with a library of its own."""
    from hatch_build import LIBRARY, compile_library

    os.environ["CFLAGS"] = f"{FLAGS} {flags}"
    compile_library(PLUGIN, Path(folder) / LIBRARY)
    environment = os.environ | {
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "ASAN_OPTIONS": "detect_leaks=0",
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libubsan.so')}",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([folder, str(ROOT)]),
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-s", *map(str, tests), *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def main(arguments: list[str]) -> int:
    """All kernels as this processor runs them, then what is different for processors of old."""
    sys.path.insert(0, str(PLUGIN))
    tests = sorted((ROOT / "tests" / "kernels").glob("test_same_*.py"))
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "lance_core_kernels"
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(PLUGIN / "lance_core_kernels", package, ignore=ignored)
        return checked(folder, tests, "", arguments) or checked(
            folder, tests, "-DPLAIN_C", arguments
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
