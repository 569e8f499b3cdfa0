"""What a store overrides to save requests or conflicts is called, and its defects do no harm."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pytest

from lance_core.errors import StoreError
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core.store.wrappers.result_checks import checked_store


class Courteous(MemoryStore):
    """Answers `existing` with ``answer``, if there is one, and records turns."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[str] = []
        self.answer: object = None
        self.fails = ""

    def existing(self, paths: Sequence[str]) -> list[str]:
        self.steps.append("existing")
        return self.answer or super().existing(paths)  # type: ignore[return-value]

    @contextlib.contextmanager
    def turn(self, folder: str, patience: float) -> Iterator[None]:
        self.steps.append(f"turn of {folder!r}")
        if self.fails == "enter":
            raise ValueError("enter")
        with contextlib.suppress(KeyError):
            yield
        if self.fails == "exit":
            raise ValueError("exit")
        self.steps.append("end")


@pytest.fixture
def store() -> Courteous:
    store = Courteous()
    for path in ("b", "a", "folder/c"):
        store.put(path, b"x")
    return store


def test_existing_and_turn_are_those_of_the_store(store: Courteous) -> None:
    checked = checked_store(store, "some plugin", lambda text: text)
    assert checked.existing(["a", "none", "b"]) == ["a", "b"]
    with checked.turn("folder", 1.0):
        store.steps.append("within")
    with PrefixStore(store, "folder").turn("", 1.0):
        pass
    expected = ["existing", "turn of 'folder'", "within", "end", "turn of 'folder'", "end"]
    assert store.steps == expected


@pytest.mark.parametrize("answer", [["b", "a"], ["a", "a"], ["none"], ("a",), 7, [7]])
def test_wrong_answers_of_existing_are_refused(store: Courteous, answer: object) -> None:
    store.answer = answer
    with pytest.raises(StoreError, match="some plugin: existing"):
        checked_store(store, "some plugin", lambda text: text).existing(["a", "b"])


@pytest.mark.parametrize("fails", ["", "enter", "exit"])
def test_a_turn_neither_fails_nor_swallows_an_error(store: Courteous, fails: str) -> None:
    store.fails = fails
    checked = checked_store(store, "some plugin", lambda text: text)
    with checked.turn("folder", 1.0):
        pass
    with pytest.raises(KeyError), checked.turn("folder", 1.0):
        raise KeyError
