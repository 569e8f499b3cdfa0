"""Defects of how object stores read and list: each a good store with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.errors import CorruptFileError, ObjectNotFoundError, StoreError
from lance_core.store.base import Buffers, ObjectMeta, PutMode
from lance_core.store.buffers import joined
from lance_core.store.functions import exists
from lance_core.store.memory import MemoryStore
from tests.conformance.planted.runner import Defect, defects_of

MIB = 1 << 20


class SortsRanges(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        return super().get_ranges(path, sorted(ranges))


class CutsRanges(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        whole = self.get(path)
        size = whole.size
        return [whole.slice(min(a, size), max(0, min(b, size) - min(a, size))) for a, b in ranges]


class MergesRangesTwice(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        return super().get_ranges(path, list(dict.fromkeys(ranges)))


class DropsEmptyRanges(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        return super().get_ranges(path, [one for one in ranges if one.length])


class IncludesTheStop(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        size = self.head(path).size
        wider = [ByteRange(a, b + 1) if a < b < size else ByteRange(a, b) for a, b in ranges]
        return super().get_ranges(path, wider)


class CountsNegativeFromTheEnd(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        if any(a < 0 for a, _ in ranges):
            return [pa.py_buffer(bytes(self.get(path))[a:b]) for a, b in ranges]
        return super().get_ranges(path, ranges)


class WrongOffsetInErrors(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        try:
            return super().get_ranges(path, ranges)
        except CorruptFileError as error:
            raise CorruptFileError("past the end", path=path, offset=0) from error


class WrongByteAcrossAMebibyte(MemoryStore):
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        found = super().get_ranges(path, ranges)
        return [
            _broken(one, MIB - a) if a < MIB < b else one
            for one, (a, b) in zip(found, ranges, strict=True)
        ]


class WrongByteOfAllAcrossAMebibyte(MemoryStore):
    def get(self, path: str) -> pa.Buffer:
        whole = super().get(path)
        return _broken(whole, MIB) if whole.size > MIB else whole


class TruncatesLargeReads(MemoryStore):
    def get(self, path: str) -> pa.Buffer:
        return super().get(path).slice(0, 20 * MIB)


class TruncatesLargeWrites(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, joined(data).slice(0, 20 * MIB), mode)


class ReusesItsBuffer(MemoryStore):
    """Reads into one buffer, which the next read fills again."""

    def __init__(self) -> None:
        super().__init__()
        self.space = bytearray(4 * MIB)

    def get(self, path: str) -> pa.Buffer:
        content = bytes(super().get(path))
        if len(content) > len(self.space):
            return pa.py_buffer(content)
        self.space[: len(content)] = content
        return pa.py_buffer(self.space).slice(0, len(content))


class ReusesItsBufferForRanges(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.space = bytearray(MIB)

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        found = super().get_ranges(path, ranges)
        if len(found) != 1 or found[0].size > MIB:
            return found
        self.space[: found[0].size] = bytes(found[0])
        return [pa.py_buffer(self.space).slice(0, found[0].size)]


class GivesBytes(MemoryStore):
    def get(self, path: str) -> pa.Buffer:
        return bytes(super().get(path))


class MissingIsEmpty(MemoryStore):
    def get(self, path: str) -> pa.Buffer:
        return super().get(path) if exists(self, path) else pa.py_buffer(b"")


class MissingIsAnyError(MemoryStore):
    def get(self, path: str) -> pa.Buffer:
        try:
            return super().get(path)
        except ObjectNotFoundError as error:
            raise StoreError(str(error)) from error


class MissingIsNotNamed(MemoryStore):
    def get(self, path: str) -> pa.Buffer:
        try:
            return super().get(path)
        except ObjectNotFoundError:
            raise ObjectNotFoundError("an object", "memory") from None


class HeadOfAFolder(MemoryStore):
    def head(self, path: str) -> ObjectMeta:
        try:
            return super().head(path)
        except ObjectNotFoundError:
            for found in self.list(path):
                return replace(found, path=path, size=0)
            raise


class WrongSize(MemoryStore):
    def head(self, path: str) -> ObjectMeta:
        found = super().head(path)
        return replace(found, size=-(-found.size // 512) * 512)


class ConstantEtag(MemoryStore):
    def head(self, path: str) -> ObjectMeta:
        return replace(super().head(path), etag="etag")

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return (self.head(one.path) for one in super().list(prefix, start_after))


class EtagOfTheSize(ConstantEtag):
    def head(self, path: str) -> ObjectMeta:
        found = super().head(path)
        return replace(found, etag=str(found.size))


class OtherEtagInListings(MemoryStore):
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return (replace(one, etag=f'"{one.etag}"') for one in super().list(prefix, start_after))


class HoursOff(MemoryStore):
    def head(self, path: str) -> ObjectMeta:
        found = super().head(path)
        return replace(found, last_modified=found.last_modified + timedelta(hours=2))


class HoursOffInListings(MemoryStore):
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        hours = timedelta(hours=5, minutes=30)
        found = super().list(prefix, start_after)
        return (replace(one, last_modified=one.last_modified - hours) for one in found)


class WithoutTimeZone(MemoryStore):
    def head(self, path: str) -> ObjectMeta:
        found = super().head(path)
        return replace(found, last_modified=found.last_modified.replace(tzinfo=None))


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


class ListsFromTheStart(MemoryStore):
    """``start_after`` itself is listed again."""

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        found = super().list(prefix)
        return (one for one in found if start_after is None or one.path >= start_after)


class ListsOneLevel(MemoryStore):
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        depth = prefix.count("/") + 1 if prefix else 0
        found = super().list(prefix, start_after)
        return (one for one in found if one.path.count("/") == depth)


class ListsFolders(MemoryStore):
    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        start = len(folder) + 1 if folder else 0
        below = [one.path[start:] for one in self.list(folder, start_after)]
        return iter(dict.fromkeys(name.partition("/")[0] for name in below))


class ListsLate(MemoryStore):
    """A listing shows what was there at the last one but one."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[ObjectMeta] = []

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        shown, self.seen = self.seen, list(super().list(""))
        return (one for one in shown if one.path.startswith(f"{prefix}/" if prefix else ""))


class ListsHiddenNot(MemoryStore):
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        found = super().list(prefix, start_after)
        return (one for one in found if not one.path.rpartition("/")[2].startswith("."))


def _broken(buffer: pa.Buffer, position: int) -> pa.Buffer:
    content = bytearray(buffer)
    content[position] ^= 0xFF
    return pa.py_buffer(bytes(content))


READING: Sequence[Defect] = [
    *defects_of("test_ranges_come_in_the_order_asked_for", SortsRanges, MergesRangesTwice),
    *defects_of("test_ranges_come_in_the_order_asked_for", IncludesTheStop),
    *defects_of(
        "test_a_range_past_the_end_is_a_typed_error",
        CutsRanges,
        WrongOffsetInErrors,
    ),
    *defects_of("test_a_range_without_bytes_is_an_empty_buffer", DropsEmptyRanges),
    *defects_of("test_what_is_no_range_is_refused", CountsNegativeFromTheEnd),
    *defects_of("test_ranges_of_large_objects_come_as_they_were_written", WrongByteAcrossAMebibyte),
    *defects_of(
        "test_an_object_of_any_size_is_read_as_it_was_written",
        WrongByteOfAllAcrossAMebibyte,
    ),
    *defects_of("test_a_large_object_is_read_as_it_was_written", TruncatesLargeReads),
    *defects_of("test_a_large_object_is_read_as_it_was_written", TruncatesLargeWrites),
    *defects_of(
        "test_a_held_buffer_outlives_other_reads",
        ReusesItsBuffer,
        ReusesItsBufferForRanges,
    ),
    *defects_of(
        "test_an_object_of_any_size_is_read_as_it_was_written",
        GivesBytes,
        WrongSize,
    ),
    *defects_of("test_what_is_not_there_is_not_found", MissingIsEmpty, MissingIsAnyError),
    *defects_of("test_what_is_not_there_is_not_found", MissingIsNotNamed),
    *defects_of("test_a_folder_is_no_object", HeadOfAFolder),
    *defects_of(
        "test_an_etag_tells_contents_apart",
        ConstantEtag,
        EtagOfTheSize,
        OtherEtagInListings,
    ),
    *defects_of(
        "test_size_and_date_are_known",
        HoursOff,
        HoursOffInListings,
        WithoutTimeZone,
    ),
    *defects_of("test_a_listing_of_many_objects_is_complete", ListsAPage),
    *defects_of("test_a_folder_holds_what_is_below_it_only", ListsByPrefix),
    *defects_of("test_an_ordered_store_lists_by_the_bytes_of_paths", ListsBackwards),
    *defects_of("test_a_listing_starts_after_any_text", ListsFromAnywhere, ListsFromTheStart),
    *defects_of("test_a_listing_holds_every_object_at_any_depth", ListsOneLevel),
    *defects_of("test_names_are_those_directly_in_a_folder", ListsFolders),
    *defects_of("test_a_strong_store_lists_what_was_written", ListsLate),
    *defects_of("test_unusual_names_are_kept_as_they_are", ListsHiddenNot),
]
