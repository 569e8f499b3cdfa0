"""Install what pip's arguments name: ``python scripts/install.py ARGUMENT ...``.

By itself pip makes an environment for each distribution of this checkout that it builds, and that
takes longer than to build it. Here all of them are built with what is installed once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

# Most of what is installed is never imported: to compile all of it takes longer than to install it.
PIP = (sys.executable, "-I", "-m", "pip", "install", "--no-compile")
BACKENDS = ("hatchling>=1.27", "editables", "setuptools")
"""What builds the distributions of this checkout in place, and PySpark, which has no wheels."""
UNCOMPRESSED = "[bdist_wheel]\ncompression = stored\n"
"""The wheel of PySpark has 480 MB: to compress it and to unpack it takes as long as all else."""


def main(arguments: list[str]) -> int:
    """Run pip. Returns its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "setup.cfg")
        settings.write_text(UNCOMPRESSED)
        os.environ["DIST_EXTRA_CONFIG"] = str(settings)
        return _install(arguments)


def _install(arguments: list[str]) -> int:
    if _names_checkout(arguments):
        subprocess.check_call([*PIP, *BACKENDS])
        if subprocess.call([*PIP, "--no-build-isolation", *arguments]) == 0:
            return 0
        # Where something else has no wheels either, it needs an environment of its own after all.
    return subprocess.call([*PIP, *arguments])


def _names_checkout(arguments: list[str]) -> bool:
    """Whether distributions of this checkout are among the arguments, or in files that they name.

    Tools alone have wheels: they need nothing to be built with.
    """
    files = [Path(name) for option, name in pairwise(arguments) if option == "-r"]
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    return any(line.startswith("-e") for line in (*arguments, *lines))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
