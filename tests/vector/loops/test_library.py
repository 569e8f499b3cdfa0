"""Which inner loops are used, and what distributions contain."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

PLUGIN = Path(__file__).parents[3] / "plugins" / "vector"
ASK = "from lance_core_vector.loops.library import is_compiled; print(is_compiled())"
STALE = f"""
import sys, types
import lance_core_vector
sys.modules["lance_core_vector._native"] = lance_core_vector._native = types.ModuleType("_native")
{ASK}
"""


def told(code: str, **environ: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environ,
        cwd=PLUGIN,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip(), done.stderr


def test_the_environment_selects_the_numpy_loops() -> None:
    assert told(ASK) == ("True", "")
    assert told(ASK, LANCE_CORE_VECTOR_LOOPS="numpy") == ("False", "")


def test_a_library_of_other_sources_is_not_used() -> None:
    used, warning = told(STALE)
    assert used == "False"
    assert "RuntimeWarning: the compiled loops are not used, but numpy" in warning


def test_a_source_distribution_has_all_that_compiling_takes(tmp_path: Path) -> None:
    """Also what it shares with the kernels, so that it can be built without them."""
    told(f"from hatchling.build import build_sdist; build_sdist({str(tmp_path)!r})")
    (archive,) = tmp_path.iterdir()
    with tarfile.open(archive) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    headers = {"src/buffers.h", "src/intrinsics.h"}
    assert {"hatch_build.py", "compile_hook.py", "src/module.c"} | headers <= names
