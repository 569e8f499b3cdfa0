"""Write the golden files of the tests anew: those of pylance that are missing, or all of them.

Needs pylance 14.0.2. Files are kept as they are where pylance would write the same values in other
bytes, so only ``--all`` replaces what is there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lance.file import LanceFileWriter

from tests.golden import archive
from tests.golden.columns import CASES, FILES, Case


def by_pylance(case: Case, version: str, path: Path) -> bytes:
    """The file of a case, written to ``path``."""
    table = case.table()
    # A batch is a page where nothing may be held back.
    cache = 1 if case.pages > 1 else None
    with LanceFileWriter(
        str(path), table.schema, version=version, data_cache_bytes=cache
    ) as writer:
        for batch in table.to_batches(max_chunksize=-(-table.num_rows // case.pages)):
            writer.write_batch(batch)
    return path.read_bytes()


def main() -> None:
    """Replace the archives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="replace the files that are there")
    again = parser.parse_args().all
    kept = {} if again else archive.all_stored(archive.PYLANCE)
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, version in FILES:
            path = archive.member(name, version)
            found = kept.get(path)
            files[path] = found or by_pylance(CASES[name], version, Path(folder) / "x.lance")
    archive.store(archive.PYLANCE, files)


if __name__ == "__main__":
    main()
