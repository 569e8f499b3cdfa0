"""Writing a case to a file, by this library or by pylance."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import lance
import numpy as np
import pyarrow as pa

import lance_core
import lance_core.file
from lance_core.checksums import environment
from tests.golden.columns import Case


def written(module: Any, case: Case, version: str, folder: Path, checksums: str = "no") -> bytes:
    """The bytes of a case, written by the ``lance.file`` of pylance, or by ours if it is None.

    ``checksums``: "no" or "pages", of our files.
    """
    with patch.object(environment, "WRITTEN", checksums):
        return _written(module, case, version, folder)


def _written(module: Any, case: Case, version: str, folder: Path) -> bytes:
    if case.payloads is not None:
        return _of_a_table(module, case.payloads(), version, folder)
    table, path = case.table(), folder / "golden.lance"
    # A batch is a page where nothing may be held back.
    cache = 1 if case.pages > 1 else None
    with (module or lance_core.file).LanceFileWriter(
        str(path), table.schema, version=version, data_cache_bytes=cache
    ) as writer:
        for page in np.array_split(np.arange(table.num_rows), case.pages):
            writer.write_batch(table if case.pages == 1 else table.take(pa.array(page)))
    return path.read_bytes()


def _of_a_table(module: Any, payloads: list[bytes | None], version: str, folder: Path) -> bytes:
    """The only data file of a table of blobs, which no single file can be."""
    library, root = (lance if module else lance_core), folder / str(len(list(folder.iterdir())))
    schema = pa.schema([library.blob_field("c")])
    table = pa.table([library.blob_array(payloads)], schema=schema)
    library.write_dataset(table, str(root), data_storage_version=version)
    (path,) = (root / "data").glob("*.lance")
    return path.read_bytes()
