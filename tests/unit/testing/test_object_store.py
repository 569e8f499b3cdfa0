"""The shipped contract catches stores that break it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from lance_core.errors import LanceError, ObjectExistsError
from lance_core.store.base import (
    Buffers,
    ByteRange,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.memory import MemoryStore
from lance_core.store.shortcuts import exists
from lance_core.testing import ObjectStoreTests

SUITE = ObjectStoreTests()


class ChecksThenWrites(MemoryStore):
    """Creates by looking first."""

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.create and exists(self, path):
            raise ObjectExistsError(path)
        time.sleep(0.002)
        super().put(path, data)


class Overwrites(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data)


class ClaimsNothingDoesIt(Overwrites):
    @property
    def capabilities(self) -> StoreCapabilities:
        return StoreCapabilities(put_if_absent=Guarantee.NO)


class SortsRanges(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        return super().get_ranges(path, sorted(ranges))


class CutsRanges(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        whole = self.get(path)
        size = whole.size
        return [whole.slice(min(a, size), max(0, min(b, size) - min(a, size))) for a, b in ranges]


class ListsAPage(MemoryStore):
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        for number, found in enumerate(super().list(prefix, start_after)):
            if number < 1000:
                yield found


class ListsByPrefix(MemoryStore):
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return (found for found in super().list("", start_after) if found.path.startswith(prefix))


class ListsBackwards(MemoryStore):
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return reversed(list(super().list(prefix, start_after)))


class ListsFromAnywhere(MemoryStore):
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return super().list(prefix)


class ShowsUnfinished(MemoryStore):
    def open_writer(self, path: str) -> ObjectWriter:
        self.put(path, b"")
        return super().open_writer(path)


class KeepsBuffers(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Buffers] = {}

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data, mode)
        self.kept[path] = data

    def get(self, path: str) -> pa.Buffer:
        return pa.py_buffer(self.kept.get(path, b""))


class DecodesPaths(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path.replace("%", "~"), data, mode)


class AcceptsAnyPath(MemoryStore):
    def head(self, path: str) -> ObjectMeta:
        return ObjectMeta(path, 0, super().head("object").last_modified)


class ShowsSecrets(MemoryStore):
    def __repr__(self) -> str:
        return "ShowsSecrets('S3CRET')"


@pytest.mark.parametrize(
    ("store", "check", "arguments"),
    [
        (ChecksThenWrites, "test_of_racing_puts_exactly_one_wins", ["store"]),
        (Overwrites, "test_put_if_absent_never_replaces", []),
        (Overwrites, "test_what_is_declared_stands_up_to_the_probe", []),
        (ClaimsNothingDoesIt, "test_put_if_absent_never_replaces", []),
        (ClaimsNothingDoesIt, "test_of_racing_puts_exactly_one_wins", ["store"]),
        (SortsRanges, "test_ranges_come_in_the_order_asked_for", [1000]),
        (CutsRanges, "test_a_range_past_the_end_is_a_typed_error", [100, (0, 1)]),
        (ListsAPage, "test_a_listing_of_many_objects_is_complete", []),
        (ListsByPrefix, "test_a_folder_holds_what_is_below_it_only", []),
        (ListsBackwards, "test_an_ordered_store_lists_by_the_bytes_of_paths", []),
        (ListsFromAnywhere, "test_a_listing_starts_after_any_text", ["data"]),
        (ShowsUnfinished, "test_an_aborted_writer_leaves_nothing", []),
        (ShowsUnfinished, "test_nothing_is_visible_before_a_writer_is_closed", []),
        (KeepsBuffers, "test_buffers_may_change_once_a_write_returned", []),
        (DecodesPaths, "test_unusual_names_are_kept_as_they_are", ["100%"]),
        (AcceptsAnyPath, "test_hostile_paths_are_refused", ["head"]),
        (ShowsSecrets, "test_no_secret_is_shown_or_pickled", [("S3CRET",)]),
    ],
)
def test_a_broken_store_fails(
    store: type[MemoryStore], check: str, arguments: list[object]
) -> None:
    broken = store()
    given = [broken if argument == "store" else argument for argument in arguments]
    with pytest.raises((AssertionError, pytest.fail.Exception, LanceError)):
        getattr(SUITE, check)(broken, *given)


def test_there_are_many_hostile_paths() -> None:
    from lance_core.testing.object_store_paths import HOSTILE

    assert len(set(HOSTILE)) >= 60


def test_a_subclass_must_give_the_store() -> None:
    assert issubclass(MemoryStore, ObjectStore)
    with pytest.raises(NotImplementedError):
        SUITE.store.__wrapped__(SUITE)  # type: ignore[attr-defined]
