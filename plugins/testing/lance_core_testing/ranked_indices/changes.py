"""Tests of indices whose rows have moved, are gone, or are joined by others."""

from __future__ import annotations

from functools import partial

import numpy as np

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.indices import IndexPart
from lance_core_testing.index_samples import SampleMap, SampleRows, concatenated
from lance_core_testing.ranked_indices.subject import RankedSubject

_NEW_FRAGMENT = np.uint64(9 << 32)


class MergeTests(RankedSubject):
    """`IndexType.merge`, for compactions and optimizations; and indices of few rows."""

    def test_an_index_may_have_no_rows_or_only_nulls_or_one_row(self) -> None:
        rows = self._sample()
        present = np.asarray(rows.values.is_valid())
        last = np.flatnonzero(present)[-1]
        answered = 0
        for what, chosen in (
            ("no rows", present & ~present),
            ("only nulls", ~present),
            ("one row", np.arange(len(present)) == last),
            ("no nulls", present),
        ):
            sample = rows.where(chosen)
            try:
                opened = self._opened(self._build(sample))
            except InvalidInputError:  # too few rows to train an index
                continue
            self._check_whole(what, opened, sample)
            answered += 1
        assert answered, "an index is built of rows that are not null"

    def test_a_moved_index_has_the_rows_that_are_kept_where_they_are_now(self) -> None:
        rows = self._sample()
        opened = self._opened(built := self._build(rows))
        kept_rows = rows.where(np.arange(len(rows.rows)) % 4 != 1)
        in_order = _NEW_FRAGMENT + np.arange(len(kept_rows.rows), dtype=np.uint64)
        fragments, offsets = kept_rows.rows >> np.uint64(32), kept_rows.rows & np.uint64(0xFFFFFFFF)
        turned = (np.uint64(20) - fragments) << np.uint64(32) | offsets
        for what, now in (("into a fragment", in_order), ("in another order", turned)):
            part = IndexPart(opened, SampleMap(kept_rows.rows, now))
            moved = self._written(rows.type, partial(self._type().merge, [part], None))
            assert moved.details == built.details, f"{what}: a move keeps the details"
            self._check_whole(what, self._opened(moved), SampleRows(kept_rows.values, now))
        self._check_whole("the index that was moved", opened, rows)

    def test_new_rows_join_an_index(self) -> None:
        rows = self._sample()
        first, added = rows.of_fragments(0, 1, 5), rows.of_fragments(6)
        built = self._build(first)
        kept_rows = first.where(np.arange(len(first.rows)) % 5 != 2)
        joined = self._merge([built], [SampleMap(kept_rows.rows, kept_rows.rows)], added)
        assert joined.details == built.details, "a merge keeps the details"
        self._check_whole("joined", self._opened(joined), concatenated([kept_rows, added]))
        again = self._merge([joined], [SampleMap(added.rows, added.rows)], kept_rows)
        self._check_whole("joined again", self._opened(again), concatenated([kept_rows, added]))

    def test_segments_of_one_training_are_merged(self) -> None:
        rows = self._sample()
        built = self._build(rows)
        nothing = SampleMap(rows.rows[:0], rows.rows[:0])
        groups = ((0,), (1, 5), (6,))
        segments = [self._merge([built], [nothing], rows.of_fragments(*ids)) for ids in groups]
        own = [rows.of_fragments(*ids) for ids in groups]
        maps = [SampleMap(part.rows, part.rows) for part in own]
        merged = self._merge(segments, maps, None)
        self._check_whole("three segments", self._opened(merged), concatenated(own))
        moved = SampleMap(own[1].rows, own[1].rows + _NEW_FRAGMENT)
        fewer = self._merge(segments[1:], [moved, maps[2]], own[0])
        rest = SampleRows(own[1].values, moved.after)
        self._check_whole(
            "two, and rows", self._opened(fewer), concatenated([rest, own[2], own[0]])
        )
