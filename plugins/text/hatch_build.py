"""The build hook that compiles `src/`: that of the kernels, which an sdist contains as well."""

import runpy
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
IN_CHECKOUT, IN_SDIST = HERE.parent / "kernels" / "hatch_build.py", HERE / "compile_hook.py"

SHARED = runpy.run_path(str(IN_SDIST if IN_SDIST.exists() else IN_CHECKOUT))


def get_build_hook() -> Any:
    """The class of the hook; the build backend calls this."""
    return SHARED["CompileHook"]
