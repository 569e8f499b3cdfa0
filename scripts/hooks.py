"""Linters that read several packages of this checkout: ``python -m scripts.hooks layers|types``.

``layers`` checks the import contracts of all packages. They are read from source, and none needs to
be installed. ``types`` runs mypy on the packages that are installed: in the environment of
``requirements/core.txt`` on the core and the plugins of its tests, in a full one on all.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]


def check_layers() -> int:
    """Check the contracts of ``.importlinter``. Returns the exit code."""
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    sys.path[:0] = [str(ROOT), *map(str, sorted((ROOT / "plugins").iterdir()))]
    code = lint_imports(no_cache=True, no_logo=True)
    return 0 if code == EXIT_STATUS_SUCCESS else 1


def check_types() -> int:
    """Run mypy on the packages of its configuration that are installed. Returns the exit code."""
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = map(Path, configuration["tool"]["mypy"]["files"])
    installed = [str(package) for package in packages if find_spec(package.name) is not None]
    return subprocess.call([sys.executable, "-m", "mypy", *installed], cwd=ROOT)


CHECKS = {"layers": check_layers, "types": check_types}


def main(arguments: list[str]) -> int:
    """Run the checks that ``arguments`` name. Returns the highest exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("check", nargs="+", choices=CHECKS)
    return next(
        (code for name in parser.parse_args(arguments).check if (code := CHECKS[name]())), 0
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
