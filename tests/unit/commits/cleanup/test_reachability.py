"""Which files versions need, also where others refer to them by a base path."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.cleanup.reachability import Reachable
from lance_core.table.indices.index_metadata import IndexMetadata, serialize_index_section
from lance_core.table.manifest_parts import BasePath


@pytest.mark.parametrize("base", [None, 1])
def test_all_files_of_an_index_are_needed(base: int | None) -> None:
    file = lance.write_dataset(pa.table({"x": [1]}), f"memory://{uuid.uuid4()}/t").snapshot.file
    index = IndexMetadata(uuid.uuid4(), "x", (0,), base_id=base)
    manifest = replace(file.manifest, base_paths=(BasePath(1, "/there"),))
    needed = Reachable()
    needed.add(replace(file, manifest=manifest, index_section=serialize_index_section([index])))
    folder = f"_indices/{index.uuid}"
    assert f"{folder}/page_data.lance" in needed
    assert f"{folder}/more/page_data.lance" in needed
    assert (f"there/{folder}/page_data.lance" in needed) is (base is not None)
    assert f"_indices/{uuid.uuid4()}/page_data.lance" not in needed
    assert "data/other.lance" not in needed
