"""Observers get counters and spans; what they raise costs nothing but a line in the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.hookspecs import ToolSpec, hookimpl
from lance_core.hookspecs.observers import OBSERVERS, Attributes, EndSpan, Observer, count, traced
from lance_core.plugins import get_manager, observers
from lance_core.plugins.store_cache import live_stores

TABLE = pa.table({"id": range(10)})


class Recorder(Observer):
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.counts: list[tuple[str, float, Attributes]] = []
        self.spans: list[tuple[str, Attributes, BaseException | None]] = []

    def count(self, name: str, amount: float, attributes: Attributes) -> None:
        self.counts.append((name, amount, attributes))

    def start_span(self, name: str, attributes: Attributes, *, is_current: bool) -> EndSpan:
        def end(results: Attributes, error: BaseException | None) -> None:
            self.spans.append((name, {**attributes, **results, "current": is_current}, error))

        return end


class Broken(Observer):
    """Raises at each call."""

    def count(self, name: str, amount: float, attributes: Attributes) -> None:
        raise RuntimeError(name)

    def start_span(self, name: str, attributes: Attributes, *, is_current: bool) -> EndSpan:
        def end(results: Attributes, error: BaseException | None) -> None:
            raise RuntimeError(name)

        if name == "start":
            raise RuntimeError(name)
        return end


RECORDER = Recorder()


def recorder() -> Recorder:
    return RECORDER


def nobody() -> None:
    return None


def nonsense() -> str:
    return "an observer"


@pytest.fixture
def plugin() -> Iterator[list[ToolSpec]]:
    """The tools of a plugin, which a test fills; afterwards nothing is observed."""
    tools: list[ToolSpec] = []

    class Plugin:
        @hookimpl
        def lance_tools(self) -> list[ToolSpec]:
            return tools

    name = get_manager().register(Plugin(), "observing")
    live_stores.reset()
    yield tools
    get_manager().unregister(name)
    OBSERVERS.clear()
    observers._created.clear()
    observers._failed.clear()
    live_stores.reset()


def test_reports_go_to_all_observers_whatever_one_of_them_raises(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recording = Recorder()
    OBSERVERS[:] = [Broken(), recording]
    try:
        count("rows", 3, table="t")
        with traced("start", a=1) as results:
            results["b"] = 2
        with pytest.raises(KeyError), traced("end", is_current=False):
            raise KeyError("the work")
        with pytest.raises(GeneratorExit), traced("end"):
            raise GeneratorExit
    finally:
        OBSERVERS.clear()
    assert recording.counts == [("rows", 3, {"table": "t"})]
    (first, second, third) = recording.spans
    assert first == ("start", {"a": 1, "b": 2, "current": True}, None)
    assert isinstance(second[2], KeyError)
    assert third[2] is None
    assert {record.name for record in caplog.records} == {"lance_core.observation"}
    assert len(caplog.records) == 4


def test_the_observer_of_a_plugin_is_used_from_the_next_store_on(
    tmp_path: Path, plugin: list[ToolSpec]
) -> None:
    plugin.append(ToolSpec(f"{__name__}:new_observer"))
    RECORDER.counts.clear()
    RECORDER.spans.clear()
    table = lance_core.write_dataset(TABLE, tmp_path)
    assert table.to_table() == TABLE
    assert [name for name, _, _ in RECORDER.spans] == ["lance.commit", "lance.scan"]
    assert {"lance.commits", "lance.scans"} <= {name for name, _, _ in RECORDER.counts}
    assert type(table.snapshot.root.store).__name__ == "ObservingStore"


new_observer = recorder


@pytest.mark.parametrize("factory", [nobody, nonsense])
def test_without_an_observer_nothing_is_wrapped(
    factory: object,
    tmp_path: Path,
    plugin: list[ToolSpec],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setitem(globals(), "new_observer", factory)
    plugin.append(ToolSpec(f"{__name__}:new_observer"))
    with caplog.at_level(logging.ERROR):
        for name in ("a", "b"):
            table = lance_core.write_dataset(TABLE, tmp_path / name)
            assert type(table.snapshot.root.store).__name__ == "LocalStore"
    assert OBSERVERS == []
    assert len(caplog.records) == (factory is nonsense)  # once, not at each store


def test_stores_count_requests_and_bytes(plugin: list[ToolSpec]) -> None:
    plugin.append(ToolSpec(f"{__name__}:new_observer"))
    RECORDER.counts.clear()
    table = lance_core.write_dataset(TABLE, "memory://observed")
    store = table.snapshot.root.store
    store.put("x", b"12345")
    assert store.get("x").size == 5
    with pytest.raises(FileNotFoundError):
        store.get("y")
    expected = {"scheme": "memory", "method": "get", "outcome": "missing"}
    assert ("lance.store.requests", 1, expected) in RECORDER.counts
    for direction in ("read", "write"):
        report = ("lance.store.bytes", 5, {"scheme": "memory", "direction": direction})
        assert report in RECORDER.counts
