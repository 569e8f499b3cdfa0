"""What libraries that were written for pylance do with tables, step by step: `tox -e drop-in`.

`lance` is the one of the environment, lance-core-alias or pylance: the steps have the same results
with both. Prints "LIBRARY VERSION: PASSED of TRIED" for each library, and what failed.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from importlib.metadata import version
from pathlib import Path

import lance

from tests.drop_in.libraries import LIBRARIES, written


def main() -> int:
    """The number of steps that failed."""
    print(f"lance {lance.__version__}")
    failed = 0
    for library, steps in LIBRARIES.items():
        passed = 0
        with tempfile.TemporaryDirectory() as folder:
            uri = written(Path(folder) / "t.lance")
            for step in steps:
                try:
                    step(uri)
                    passed += 1
                except Exception:  # a library may raise anything
                    print(f"{library}, {step.__name__}:")
                    traceback.print_exc(limit=-3, file=sys.stdout)
        print(f"{library} {version(library)}: {passed} of {len(steps)}")
        failed += len(steps) - passed
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
