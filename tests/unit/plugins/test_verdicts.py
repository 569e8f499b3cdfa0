"""What the verdict of a probe belongs to, where the store does not say it."""

from __future__ import annotations

from pathlib import Path

from lance_core.plugins.capability_evidence import verdict_key
from lance_core.plugins.probe_records import PROBE_KEY, learn_probes, probe_record
from lance_core.store.local import LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.uri import parse_uri
from lance_core.store.wrappers.prefix import PrefixStore


def test_a_branch_has_the_verdict_of_its_table(tmp_path: Path) -> None:
    store, url = LocalStore(tmp_path), parse_uri(str(tmp_path))
    branch = PrefixStore(store, "tree/branch")
    key = verdict_key(store, url, {"a": "b"})
    assert verdict_key(branch, url.below("tree/branch"), {"a": "b"}) == key
    assert verdict_key(branch, url.below("tree/branch"), {"a": "c"}) != key
    assert verdict_key(LocalStore(tmp_path), parse_uri(str(tmp_path / "b")), {"a": "b"}) != key


def test_a_store_that_names_no_guarantor_keeps_no_record() -> None:
    store = MemoryStore()
    assert probe_record(store, {}) == {}
    learn_probes(store, {PROBE_KEY: f"{'0' * 32} 2026-01-01 put_if_absent"}, {})
    assert probe_record(store, {}) == {}
