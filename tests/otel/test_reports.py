"""Counters and spans of commits, scans, stores and caches, in the SDK's exporters."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

import lance_core
from lance_core.errors import CommitConflictError, CorruptFileError
from lance_core.observation import OBSERVERS
from lance_core_otel.names import COUNTERS, SPANS
from tests.otel.conftest import Telemetry

ROOT = Path(__file__).parents[2]
ROWS = pa.table({"id": range(1000), "text": [f"text {n}" for n in range(1000)]})


def test_a_commit_is_counted_and_has_a_span_in_that_of_the_caller(
    tmp_path: Path, telemetry: Telemetry
) -> None:
    with trace.get_tracer("test").start_as_current_span("job") as job:
        lance_core.write_dataset(ROWS, tmp_path)
    (span,) = telemetry.spans("lance.commit")
    assert span.parent is not None
    assert span.parent.span_id == job.get_span_context().span_id
    assert dict(span.attributes or {}) == {
        "lance.operation": "Overwrite",
        "lance.outcome": "committed",
        "lance.retries": 0,
        "lance.version": 1,
    }
    assert telemetry.total("lance.commits", outcome="committed", operation="Overwrite") == 1
    assert telemetry.total("lance.commit.retries") == 0
    written = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert telemetry.total("lance.store.bytes", direction="write", scheme="file") == written
    assert telemetry.total("lance.store.requests", method="put", outcome="done") > 0


def test_retries_and_conflicts_are_counted(tmp_path: Path, telemetry: Telemetry) -> None:
    first = lance_core.write_dataset(ROWS, tmp_path)
    late, later = lance_core.dataset(tmp_path), lance_core.dataset(tmp_path)
    first.delete("id < 10")
    late.insert(ROWS)  # rebased in its first attempt
    assert telemetry.total("lance.commits", outcome="committed") == 3
    overwrite = lance_core.LanceOperation.Overwrite(ROWS.schema, [])
    lance_core.LanceDataset.commit(tmp_path, overwrite, read_version=3)
    fragments = [part.metadata for part in later.get_fragments()]
    update = lance_core.LanceOperation.Delete(fragments, [], "id = 1")
    with pytest.raises(CommitConflictError):
        lance_core.LanceDataset.commit(tmp_path, update, read_version=1)
    assert telemetry.total("lance.commits", outcome="conflict", operation="Delete") == 1
    span = telemetry.spans("lance.commit")[-1]
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events] == ["exception"]


def test_attempts_after_a_faster_writer_are_retries(
    tmp_path: Path, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    table = lance_core.write_dataset(ROWS, tmp_path)
    other = lance_core.dataset(tmp_path)
    store = other.snapshot.root.store
    original = store.put
    is_first = [True]

    def put(path: str, *arguments: object) -> object:
        """Another writer commits just before the manifest of the first attempt."""
        if path.startswith("_versions") and is_first.pop():
            store.put = original  # type: ignore[method-assign]
            table.insert(ROWS)
        return original(path, *arguments)  # type: ignore[arg-type]

    store.put = put  # type: ignore[assignment]
    with caplog.at_level(logging.DEBUG, "lance_core.commits"):
        other.insert(ROWS)
    assert telemetry.total("lance.commit.retries", operation="Append") == 1
    levels = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert levels == [
        ("DEBUG", "committed version 2"),
        ("INFO", "attempt 1 of a commit was too late"),
        ("DEBUG", "committed version 3"),
    ]


def test_a_scan_has_a_span_with_rows_bytes_and_steps(tmp_path: Path, telemetry: Telemetry) -> None:
    lance_core.write_dataset(ROWS, tmp_path, max_rows_per_file=500)
    table = lance_core.dataset(tmp_path)
    assert table.to_table(filter="id < 10").num_rows == 10
    (span,) = telemetry.spans("lance.scan")
    attributes = dict(span.attributes or {})
    assert attributes["lance.rows"] == 10
    assert attributes["lance.bytes"] == telemetry.total("lance.scan.bytes")
    assert telemetry.total("lance.scan.rows") == 10
    assert telemetry.total("lance.scan.rows_read") >= 10
    for step in ("read", "filter", "result"):
        assert telemetry.total("lance.scan.step.time", step=step) > 0
    assert telemetry.total("lance.store.bytes", direction="read") > 0
    list(table.to_batches(columns=["id"]))
    next(iter(table.to_batches(columns=["text"]))).validate()
    assert telemetry.total("lance.scans") == 3
    assert all(s.status.status_code is StatusCode.UNSET for s in telemetry.spans("lance.scan"))


def test_a_scan_that_fails_has_the_error(tmp_path: Path, telemetry: Telemetry) -> None:
    lance_core.write_dataset(ROWS, tmp_path)
    next((tmp_path / "data").iterdir()).write_bytes(b"no file")
    with pytest.raises(CorruptFileError):
        list(lance_core.dataset(tmp_path).to_batches())
    (span,) = telemetry.spans("lance.scan")
    assert span.status.status_code is StatusCode.ERROR


def test_hits_and_misses_of_caches_are_counted(tmp_path: Path, telemetry: Telemetry) -> None:
    lance_core.write_dataset(ROWS, tmp_path).create_scalar_index("id", "BTREE")
    table = lance_core.dataset(tmp_path)
    before = telemetry.total("lance.cache.requests", hit=False)
    for _ in range(2):
        table.to_table(filter="id = 7")
    for cache in ("data files", "indices"):
        hits = telemetry.total("lance.cache.requests", cache=cache, hit=True)
        misses = telemetry.total("lance.cache.requests", cache=cache, hit=False)
        assert (hits > 0, misses > 0) == (True, True), cache
    assert telemetry.total("lance.cache.requests", hit=False) == before + 2


def test_an_observer_that_fails_costs_no_commit_and_no_row(
    tmp_path: Path, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    lance_core.write_dataset(ROWS, tmp_path)

    class Broken(type(OBSERVERS[0])):  # type: ignore[misc]  # only its methods matter
        def count(self, *arguments: object) -> None:
            raise RuntimeError("count")

        def start_span(self, *arguments: object, **options: object) -> object:
            raise RuntimeError("start")

    OBSERVERS[:] = [Broken()]
    table = lance_core.dataset(tmp_path)
    table.insert(ROWS)
    assert table.to_table().num_rows == 2000
    OBSERVERS.clear()
    assert any("failed to count lance.commits" in r.getMessage() for r in caplog.records)


def test_without_providers_no_store_is_wrapped() -> None:
    """In a process of its own, since providers stay."""
    code = (
        "import lance_core, pyarrow as pa; from lance_core.observation import OBSERVERS;"
        "table = lance_core.write_dataset(pa.table({'a': [1]}), 'memory://t');"
        "print(type(table.snapshot.root.store).__name__, OBSERVERS)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "MemoryStore []\n"


def test_all_names_are_documented_and_used() -> None:
    page = (ROOT / "docs/plugins/otel.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `(lance\.[\w.]+)` \|", page, re.MULTILINE))
    spans = {name.replace("lance.store.", "lance.store.METHOD") for name in SPANS}
    assert listed == {*COUNTERS, *spans}
    code = "".join(
        path.read_text("utf-8")
        for folder in ("lance_core", "plugins/remote/lance_core_remote")
        for path in (ROOT / folder).rglob("*.py")
    )
    used = set(re.findall(r'(?:count|traced)\(\s*"(lance\.[\w.]+)"', code))
    assert used == {*COUNTERS, *SPANS}
