"""A pin is a tag that protects a version while something is made of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import lance_core as lance
from lance_core.commits.cleanup.pins import pinned
from lance_core.commits.environment import SYSTEM
from lance_core.table.refs import Tag


def test_a_pin_is_a_tag_of_the_version_within_the_block(tmp_path: Path) -> None:
    dataset = lance.write_dataset(pa.table({"x": [1]}), str(tmp_path / "t"))
    root = dataset.snapshot.root
    before = SYSTEM.clock()
    with pinned(root.handler, root.store, 1, SYSTEM) as location:
        (found,) = root.store.list("_refs/tags")
        tag = Tag.from_json(bytes(root.store.get(found.path)))
        assert (tag.version, tag.branch) == (location.version, None) == (1, None)
        assert tag.manifest_size == root.store.head(location.path).size
        assert before <= (tag.created_at_ns or 0) == (tag.updated_at_ns or 0) <= SYSTEM.clock()
    assert not list(root.store.list("_refs/tags"))
