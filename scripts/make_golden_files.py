"""Write the golden files of the tests anew: ours, and those of pylance that are missing or changed.

Needs pylance 14.0.2, whose public names are listed anew as well. Its files and tables are kept
where they hold what they should, since it does not write the same bytes each time; ``--all``
replaces them too. What changes in our files is what a reader of
older releases has to read from now on: look at it before it is committed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from lance import file as pylance

from tests.golden import archive, pylance_names, pylance_tables
from tests.golden.columns import CASES, FILES, SUMMED_FILES
from tests.golden.reading import column, opened
from tests.golden.writing import written


def _is_right(raw: bytes | None, name: str) -> bool:
    """Whether a file that is kept has the values that it should have."""
    if raw is None:
        return False
    found: Any = column(opened(raw))
    return bool(found.to_pylist() == CASES[name].values().to_pylist())


def main() -> None:
    """Replace the archives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="replace the files of pylance, too")
    again = parser.parse_args().all
    kept = {} if again else archive.all_stored(archive.PYLANCE)
    ours, theirs = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, version in FILES:
            path = archive.member(name, version)
            raw = kept.get(path)
            if raw is None or not _is_right(raw, name):
                raw = written(pylance, CASES[name], version, Path(folder))
            theirs[path] = raw
            ours[path] = written(None, CASES[name], version, Path(folder))
    archive.store(archive.PYLANCE, theirs)
    archive.store(archive.OURS, ours)
    archive.store(archive.SUMMED, _summed())
    if again or not archive.PYLANCE_TABLES.exists():
        archive.store_together(archive.PYLANCE_TABLES, _tables())
    pylance_names.store(pylance_names.of_installed())


def _summed() -> dict[str, bytes]:
    """Some of our files, with checksums."""
    files = {}
    for name, version in SUMMED_FILES:
        with tempfile.TemporaryDirectory() as folder:
            content = written(None, CASES[name], version, Path(folder), "pages")
            files[archive.member(name, version)] = content
    return files


def _tables() -> dict[str, bytes]:
    """The files of all tables of pylance."""
    files = {}
    for name in pylance_tables.TABLES:
        with tempfile.TemporaryDirectory() as folder:
            root = pylance_tables.written(name, Path(folder))
            for path in sorted(root.rglob("*")):
                if path.is_file():
                    files[f"{name}/{path.relative_to(root).as_posix()}"] = path.read_bytes()
    return files


if __name__ == "__main__":
    main()
