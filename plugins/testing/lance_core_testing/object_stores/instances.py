"""Part of the contract of object stores: all instances and processes share the objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from lance_core.errors import ObjectExistsError, ObjectNotFoundError
from lance_core.hookspecs.stores import ByteRange, Guarantee, ObjectStore, PutMode, list_paths
from lance_core_testing.assertions import check_bytes, must_raise
from lance_core_testing.processes import (
    Attempt,
    Wait,
    in_another_process,
    race_overtaken,
    race_processes,
)

OpenStore: TypeAlias = Callable[[], ObjectStore]
"""Creates an instance of a store; picklable."""

KEYS = 20
CONTENT = bytes(range(256)) * 300
"""Large enough for a write to take a while."""


class InstanceTests:
    """Changes by one instance are visible to all others, in this process and in others."""

    def test_another_instance_sees_the_same_objects(
        self, store: ObjectStore, reopened: ObjectStore
    ) -> None:
        store.put("a/b", b"content")
        check_bytes(reopened.get("a/b"), b"content", "get by another instance")
        reopened.delete("a/b")
        with must_raise(ObjectNotFoundError, "get of what another instance has deleted"):
            store.get("a/b")

    def test_no_instance_keeps_what_another_has_changed(
        self, store: ObjectStore, reopened: ObjectStore
    ) -> None:
        _check_views(store, reopened, _Here(reopened))
        _check_views(reopened, store, _Here(store))

    def test_another_process_sees_the_same_objects(
        self, store: ObjectStore, shared: OpenStore
    ) -> None:
        store.put("ours", b"ours")
        seen = in_another_process(_Elsewhere(shared, "ours", b"theirs"))
        assert seen == b"ours", f"another process read {seen!r} of what this one had written"
        check_bytes(store.get("theirs"), b"theirs", "get of what another process has written")
        with must_raise(ObjectNotFoundError, "get of what another process has deleted"):
            store.get("ours")

    def test_no_process_keeps_what_another_has_changed(
        self, store: ObjectStore, shared: OpenStore
    ) -> None:
        _check_views(store, store, _There(shared))

    def test_of_racing_processes_exactly_one_creates_an_object(
        self, store: ObjectStore, shared: OpenStore
    ) -> None:
        capabilities = store.capabilities
        for method in _CREATE:
            if getattr(capabilities, method) is not Guarantee.YES:
                continue
            for winners in race_overtaken(_Attempts(shared, method)):
                assert len(winners) == 1, (
                    f"the store declares {method}=YES; one process was stopped in the middle of "
                    f"creating an object while another created it, and {len(winners)} of them were "
                    "told that they did; exactly one must be"
                )
            won = race_processes(_Creating(shared, method))
            for key in range(KEYS):
                path = f"{method}/{key}"
                winners = [writer for writer, paths in enumerate(won) if path in paths]
                assert len(winners) == 1, (
                    f"the store declares {method}=YES, but the processes {winners} of "
                    f"{len(won)} were told that they created {path!r}; exactly one must be"
                )
                content = _content(winners[0])
                check_bytes(store.get(path), content, f"{method}: get of what the winner created")


def _put(store: ObjectStore, path: str, content: bytes) -> None:
    store.put(path, content, PutMode.create)


def _rename(store: ObjectStore, path: str, content: bytes) -> None:
    source = f"sources/{content[0]}/{path}"
    store.put(source, content)
    store.rename_if_absent(source, path)


def _copy(store: ObjectStore, path: str, content: bytes) -> None:
    source = f"sources/{content[0]}/{path}"
    store.put(source, content)
    store.copy(source, path, PutMode.create)


_CREATE: dict[str, Callable[[ObjectStore, str, bytes], None]] = {
    "put_if_absent": _put,
    "rename_if_absent": _rename,
    "copy_if_absent": _copy,
}
"""Functions that create an object only if it does not exist, by the required capability."""


def _content(writer: int) -> bytes:
    return bytes([writer]) + CONTENT


@dataclass(frozen=True)
class _Attempts:
    """Attempts to create objects."""

    open_store: OpenStore
    method: str

    def __call__(self) -> Attempt:
        store = self.open_store()

        def attempt(writer: int, number: int) -> bool:
            try:
                _CREATE[self.method](store, f"overtaken/{self.method}/{number}", _content(writer))
            except ObjectExistsError:
                return False
            return True

        return attempt


@dataclass(frozen=True)
class _Creating:
    """Creates every object; returns the acknowledged paths."""

    open_store: OpenStore
    method: str

    def __call__(self, writer: int, wait: Wait) -> list[str]:
        store = self.open_store()
        won = []
        for key in range(KEYS):
            path = f"{self.method}/{key}"
            wait()
            try:
                _CREATE[self.method](store, path, _content(writer))
            except ObjectExistsError:
                continue
            won.append(path)
        return won


@dataclass(frozen=True)
class _Elsewhere:
    """Reads and deletes an object and writes another; returns the bytes read."""

    open_store: OpenStore
    path: str
    content: bytes

    def __call__(self) -> bytes | None:
        store = self.open_store()
        try:
            seen = bytes(store.get(self.path))
        except ObjectNotFoundError:
            return None
        store.delete(self.path)
        store.put("theirs", self.content)
        return seen


@dataclass(frozen=True)
class _Step:
    """A change by the other instance between two reads."""

    path: str
    content: bytes | None

    def take(self, store: ObjectStore) -> None:
        if self.content is None:
            store.delete(self.path)
        else:
            store.put(self.path, self.content)


@dataclass(frozen=True)
class _Here:
    store: ObjectStore

    def __call__(self, step: _Step) -> None:
        step.take(self.store)


@dataclass(frozen=True)
class _There:
    open_store: OpenStore

    def __call__(self, step: _Step) -> None:
        in_another_process(_Taking(self.open_store, step))


@dataclass(frozen=True)
class _Taking:
    open_store: OpenStore
    step: _Step

    def __call__(self) -> None:
        self.step.take(self.open_store())


_STEPS = (
    _Step("folder/object", b"first"),
    _Step("folder/object", b"another"),  # of another size
    _Step("folder/object", b"changed"),  # of the same size
    _Step("folder/second", b"more"),
    _Step("folder/object", None),
    _Step("folder/object", b"again"),
    _Step("folder/second", None),
)


def _check_views(store: ObjectStore, other: ObjectStore, change: Callable[[_Step], None]) -> None:
    """Read everything with both instances before and after each step of ``change``."""
    objects: dict[str, bytes] = {}
    is_strong = store.capabilities.strong_reads is Guarantee.YES
    for step in (*_STEPS, _Step("folder/object", None)):
        for instance in (store, other):
            _look(instance, objects, is_strong)
        change(step)
        if step.content is None:
            objects.pop(step.path, None)
        else:
            objects[step.path] = step.content
    _look(store, objects, is_strong)


def _look(store: ObjectStore, objects: dict[str, bytes], is_strong: bool) -> None:
    """Read everything with all methods; a store with strong reads must return ``objects``."""
    after = "after another instance had changed it"
    for path in ("folder/object", "folder/second"):
        content = objects.get(path)
        expected = None if content is None else (content, content[:4], len(content))
        seen = _seen(store, path)
        if is_strong:
            assert seen == expected, (
                f"get, get_ranges and head of {path!r} {after} gave {seen}, must give {expected} "
                "(None: ObjectNotFoundError): strong_reads is YES, nothing old may be kept"
            )
    listed = (list_paths(store, "folder"), sorted(store.list_names("folder")))
    if is_strong:
        names = sorted(path.removeprefix("folder/") for path in objects)
        assert (sorted(listed[0]), listed[1]) == (sorted(objects), names), (
            f"a listing {after} gave {listed}, must give {sorted(objects)}"
        )


def _seen(store: ObjectStore, path: str) -> tuple[object, ...] | None:
    """The object, its first bytes and its size; None if every method reports it as missing."""
    answers: list[object] = []
    reads: tuple[Callable[[], object], ...] = (
        lambda: bytes(store.get(path)),
        lambda: bytes(store.get_ranges(path, [ByteRange(0, 4)])[0]),
        lambda: store.head(path).size,
    )
    for read in reads:
        try:
            answers.append(read())
        except ObjectNotFoundError:
            answers.append(None)
    return None if answers == [None] * 3 else tuple(answers)
