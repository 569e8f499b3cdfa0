"""Counts of many fragments, which numpy reads, equal those of few, which protobuf reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

import numpy as np
import pytest

from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError
from lance_core.table.fragments import fragment_counts
from lance_core.table.fragments.fragment_counts import MANY, Count, FragmentCounts
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.wire_scan import Int64Array

_FILE = table_pb2.DataFile(path="a.lance", fields=[0], file_size_bytes=700)
_DELETION = table_pb2.DeletionFile(id=2**64 - 1, num_deleted_rows=3)


def _raw(**fields: object) -> bytes:
    message = table_pb2.DataFragment(**{"physical_rows": 10, **fields})  # type: ignore[arg-type]
    return message.SerializeToString()


PLAIN = _raw(id=7, files=[_FILE])
SEVERAL_FILES = _raw(id=2**32 - 1, files=[_FILE, _FILE])
DELETED = _raw(id=300, files=[_FILE], deletion_file=_DELETION)
UNKNOWN = _raw(physical_rows=0, deletion_file=table_pb2.DeletionFile())
EMPTY = b""
NEW_FIELD = PLAIN + b"\xfa\x07\x03new"
MERGED = _raw(deletion_file=table_pb2.DeletionFile(read_version=1)) + b"\x1a\x02\x20\x02"
HUGE = _raw(physical_rows=2**64 - 1)
HUGE_FILES = _raw(files=[table_pb2.DataFile(file_size_bytes=2**64 - 1)] * 2)


def _many(*raw: bytes) -> list[bytes]:
    return list(islice(cycle(raw), MANY))


def test_many_fragments_have_the_counts_of_few() -> None:
    for raw in (
        _many(PLAIN, SEVERAL_FILES, DELETED, UNKNOWN, EMPTY, NEW_FIELD),
        _many(PLAIN, MERGED),
        _many(PLAIN, HUGE),
        _many(PLAIN, HUGE_FILES),
        _many(PLAIN),
    ):
        few = [FragmentCounts.of(raw[start : start + 9]) for start in range(0, MANY, 9)]
        expected = np.concatenate([counts.table for counts in few], axis=1)
        assert FragmentCounts.of(raw).table.tolist() == expected.tolist()


def test_many_plain_fragments_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragment_counts, "_parsed", None)
    assert FragmentCounts.of(_many(PLAIN, DELETED, NEW_FIELD)).has_deletion_files


def test_a_broken_fragment_among_many_is_named_by_its_place() -> None:
    for broken in (b"\xff", b"\x12\x05ab", b"\x08"):
        raw = _many(PLAIN)
        raw[5] = broken
        with pytest.raises(CorruptFileError, match=r"fragments\[5\]"):
            FragmentCounts.of(raw)


def test_impossible_counts_among_many_are_corrupt() -> None:
    wrong = _raw(physical_rows=2, deletion_file=_DELETION)
    for broken, match in ((wrong, r"fragments\[5\]"), (HUGE, r"fragments\[5\]")):
        raw = _many(PLAIN)
        raw[5] = broken
        assert FragmentList(raw).recorded_counts.physical_rows[4] == 10
        with pytest.raises(CorruptFileError, match=match):
            _ = FragmentList(raw).counts
    with pytest.raises(CorruptFileError, match="above"):
        _ = FragmentList(_many(PLAIN, _raw(id=2**32))).ids


def test_unknown_counts_make_the_live_rows_unknown() -> None:
    assert FragmentCounts.of([PLAIN, DELETED]).num_rows == 17
    for lacking in (UNKNOWN, EMPTY, _raw(deletion_file=table_pb2.DeletionFile())):
        assert FragmentCounts.of([PLAIN, lacking]).live_rows is None
    assert FragmentCounts.of([]).num_rows == 0


def test_totals_may_exceed_64_bits() -> None:
    for number in (2**62, -(2**63)):
        counts = FragmentCounts(np.full((len(Count), 5), number))
        assert counts.totals() == (5 * number,) * len(Count)
        assert counts.totals() is counts.totals()


def test_versions_share_the_counts_of_equal_fragments(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    parse = fragment_counts._parsed

    def counted(raw: Sequence[bytes]) -> Int64Array:
        parsed.append(len(raw))
        return parse(raw)

    before = [_raw(id=number, files=[_FILE]) for number in range(9)]
    _ = (old := FragmentList(before)).recorded_counts
    monkeypatch.setattr(fragment_counts, "_parsed", counted)
    changed = [*before[:4], DELETED, *before[5:]]
    for after, new in (
        (before, 0),
        ([*before, DELETED], 1),
        (changed, 5),
        (before[:3], 0),
        ([], 0),
        ([DELETED], 1),
    ):
        parsed.clear()
        shared = FragmentList(after)
        shared.share_counts(old)
        assert parsed == [new]
        assert shared.counts.table.tolist() == FragmentCounts.of(after).table.tolist()
