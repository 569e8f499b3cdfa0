"""A commit says how durable it is; what a power cut leaves of the newest manifest is an error."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import CorruptFileError
from lance_core.store.durability import Durability
from lance_core.store.local import LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core_testing.stores.tracing import TracingStore

ROW = pa.table({"x": [1]})


def test_what_a_commit_returns_says_how_durable_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LANCE_CORE_DURABILITY", raising=False)
    uri = str(tmp_path / "t.lance")
    assert lance.write_dataset(ROW, uri).durability == "durable"
    for mode in ("fast", "durable"):
        options = {"durability": mode}
        made = lance.write_dataset(ROW, uri, mode="append", storage_options=options)
        assert made.durability == mode
        assert lance.dataset(uri, storage_options=options).durability == mode
        made.insert(ROW)
        assert made.durability == mode
    monkeypatch.setenv("LANCE_CORE_DURABILITY", "fast")
    assert lance.write_dataset(ROW, tmp_path / "other.lance").durability == "fast"


def test_where_the_store_decides_nothing_is_said() -> None:
    made = lance.write_dataset(ROW, "memory://durability/t.lance")
    assert made.durability is None


def test_wrappers_do_as_their_store_does(tmp_path: Path) -> None:
    local = LocalStore(tmp_path, Durability.fast)
    assert TracingStore(local).durability is Durability.fast
    assert PrefixStore(local, "a").durability is Durability.fast
    assert PrefixStore(MemoryStore(), "a").durability is None


@pytest.mark.parametrize("left", [0, 1, 20, -1])
@pytest.mark.parametrize("mode", ["fast", "durable"])
def test_a_torn_head_is_an_error_that_names_it(tmp_path: Path, left: int, mode: str) -> None:
    """No fallback: the version was acknowledged, and only its owner can give it up."""
    uri, options = str(tmp_path / "t.lance"), {"durability": mode}
    lance.write_dataset(ROW, uri, storage_options=options)
    lance.write_dataset(ROW, uri, mode="append", storage_options=options)
    head = min((tmp_path / "t.lance" / "_versions").glob("*.manifest"))
    head.write_bytes(head.read_bytes()[:left])
    for use in (
        lambda: lance.dataset(uri, storage_options=options),
        lambda: lance.write_dataset(ROW, uri, mode="append", storage_options=options),
    ):
        with pytest.raises(CorruptFileError, match=re.escape(head.name)) as torn:
            use()
        assert torn.value.path == f"_versions/{head.name}"
    assert head.stat().st_size >= max(left, 0)
    assert lance.dataset(uri, version=1, storage_options=options).count_rows() == 1
    head.unlink()
    assert lance.dataset(uri, storage_options=options).version == 1
    assert lance.write_dataset(ROW, uri, mode="append", storage_options=options).version == 2
