"""`AddressMap`: the addresses of rows after rewrites of their fragments.

A rewrite stores the live rows of a group of fragments, in their order, in new fragments. Runs of
adjacent addresses stay adjacent up to the end of a new fragment, so a map has one entry for each
run instead of one for each row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.reuse_index import ReuseGroup, ReuseVersion
from lance_core.table.indices.row_set import RowSet, UInt64Array

_HIGH_BITS = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)

NewRows = Sequence[tuple[int, int]]
"""The id of each new fragment of a group, and its rows."""


@dataclass(frozen=True, slots=True, eq=False)
class AddressRuns:
    """Runs of addresses: the first of each, and how many there are. No run is empty."""

    starts: UInt64Array
    lengths: UInt64Array

    @classmethod
    def of_live_rows(
        cls, fragments: Iterable[tuple[int, int, npt.NDArray[np.uint32] | None]]
    ) -> AddressRuns:
        """The live rows of fragments: the id, the physical rows and the sorted deleted offsets."""
        runs = []
        for id_, rows, deleted in fragments:
            gone = np.empty(0, np.uint64) if deleted is None else deleted.astype(np.uint64)
            starts = np.append(np.zeros(1, np.uint64), gone + _ONE)
            lengths = np.append(gone, np.uint64(rows)) - starts
            present = lengths > 0
            high = np.uint64(id_) << _HIGH_BITS
            runs.append(cls(starts[present] + high, lengths[present]))
        return cls.concatenated(runs)

    @classmethod
    def of_row_set(cls, rows: RowSet) -> AddressRuns:
        """The addresses in ``rows``, ascending."""
        return cls.concatenated(
            _runs_of_sorted(RowSet({high: bitmap}).numbers())
            for high, bitmap in sorted(rows.bitmaps.items())
        )

    @classmethod
    def concatenated(cls, parts: Iterable[AddressRuns]) -> AddressRuns:
        """All runs of ``parts`` in their order."""
        none = np.empty(0, np.uint64)
        runs = [cls(none, none), *parts]
        return cls(
            np.concatenate([run.starts for run in runs]),
            np.concatenate([run.lengths for run in runs]),
        )


def _runs_of_sorted(addresses: UInt64Array) -> AddressRuns:
    firsts = np.append(0, np.flatnonzero(np.diff(addresses) != 1) + 1)
    stops = np.append(firsts[1:], len(addresses))
    return AddressRuns(addresses[firsts], (stops - firsts).astype(np.uint64))


@dataclass(frozen=True, slots=True, eq=False)
class _Rewrite:
    """Where one rewrite has stored the rows of the fragments ``old``; runs ascend by ``starts``."""

    starts: UInt64Array
    lengths: UInt64Array
    targets: UInt64Array
    old: UInt64Array

    def moved(self, rows: UInt64Array) -> tuple[UInt64Array, npt.NDArray[np.bool_]]:
        if not len(self.starts):
            return rows, ~np.isin(rows >> _HIGH_BITS, self.old)
        run = np.maximum(np.searchsorted(self.starts, rows, side="right") - 1, 0)
        # Below the start of the first run, the difference is negative: a very large number.
        offsets = rows - self.starts[run]
        is_live = offsets < self.lengths[run]
        new = np.where(is_live, self.targets[run] + offsets, rows)
        others = np.flatnonzero(~is_live)
        is_live[others] = ~np.isin(rows[others] >> _HIGH_BITS, self.old)
        return new, is_live


@dataclass(frozen=True, slots=True, eq=False)
class AddressMap:
    """Addresses after ``rewrites``, oldest first; it is a `lance_core.index.base.RowMap`.

    Rows of fragments that were not rewritten keep their addresses. Rows that were deleted before a
    rewrite are not kept. Fragment ids are never used again, so a map also applies to addresses from
    between its rewrites.
    """

    rewrites: tuple[_Rewrite, ...] = ()

    @classmethod
    def of_groups(
        cls, groups: Iterable[tuple[Collection[int], AddressRuns, NewRows]]
    ) -> AddressMap:
        """The map of one rewrite: the old fragments, their live rows, and the new fragments.

        Raises `CorruptFileError` if the new fragments of a group do not have as many rows.
        """
        sources, targets, ids = [], [np.empty(0, np.uint64)], set[int]()
        for old, runs, new in groups:
            ids.update(old)
            source, target = _divided(runs, new)
            sources.append(source)
            targets.append(target)
        runs = AddressRuns.concatenated(sources)
        order = np.argsort(runs.starts)
        rewrite = _Rewrite(
            runs.starts[order],
            runs.lengths[order],
            np.concatenate(targets)[order],
            np.array(sorted(ids), np.uint64),
        )
        return cls((rewrite,))

    @classmethod
    def of_versions(cls, versions: Iterable[ReuseVersion]) -> AddressMap:
        """The map of a fragment-reuse index. Raises `CorruptFileError` if it is inconsistent."""
        maps = (cls.of_groups(map(_parts, version.groups)) for version in versions)
        return cls(tuple(rewrite for address_map in maps for rewrite in address_map.rewrites))

    @property
    def nbytes(self) -> int:
        """The bytes of the map in memory."""
        return sum(24 * len(rewrite.starts) + rewrite.old.nbytes for rewrite in self.rewrites)

    def then(self, later: AddressMap) -> AddressMap:
        """The map of these rewrites and ``later`` ones."""
        return AddressMap(self.rewrites + later.rewrites)

    def moved(self, rows: UInt64Array) -> tuple[UInt64Array, npt.NDArray[np.bool_]]:
        """For each of ``rows``, its address now, and True if it was live at all rewrites."""
        is_live = np.ones(len(rows), np.bool_)
        for rewrite in self.rewrites:
            rows, still = rewrite.moved(rows)
            is_live &= still
        return rows, is_live

    def moved_set(self, rows: RowSet) -> RowSet:
        """The addresses of the live rows in ``rows`` now."""
        for rewrite in self.rewrites:
            rows = _moved_set(rewrite, rows)
        return rows


def _moved_set(rewrite: _Rewrite, rows: RowSet) -> RowSet:
    old = set(rewrite.old.tolist())
    before = rows.within(lambda high: high in old)
    if not before:
        return rows
    listed = RowSet({high: bitmap for high, bitmap in before.bitmaps.items() if bitmap is not None})
    new, is_live = rewrite.moved(listed.numbers())
    whole = [high for high, bitmap in before.bitmaps.items() if bitmap is None]
    of_whole = np.isin(rewrite.starts >> _HIGH_BITS, np.array(whole, np.uint64))
    targets, lengths = rewrite.targets[of_whole], rewrite.lengths[of_whole]
    highs, firsts = (targets >> _HIGH_BITS).tolist(), targets & _LOW
    ranges = zip(highs, firsts.tolist(), (firsts + lengths).tolist(), strict=True)
    elsewhere = rows.within(lambda high: high not in old)
    return RowSet.union([elsewhere, RowSet.of(new[is_live]), RowSet.of_ranges(ranges)])


def _parts(group: ReuseGroup) -> tuple[list[int], AddressRuns, list[tuple[int, int]]]:
    return (
        [fragment.id for fragment in group.old],
        AddressRuns.of_row_set(RowSet.from_treemap(group.row_addresses)),
        [(fragment.id, fragment.physical_rows) for fragment in group.new],
    )


def _divided(runs: AddressRuns, new: NewRows) -> tuple[AddressRuns, UInt64Array]:
    """``runs``, divided where a new fragment begins, and the new address of each first row."""
    ranks = np.cumsum(runs.lengths) - runs.lengths
    rows = np.array([count for _, count in new], np.uint64)
    firsts = np.cumsum(rows) - rows
    total = runs.lengths.sum(dtype=np.uint64)
    if total != rows.sum(dtype=np.uint64):
        names = ", ".join(str(id_) for id_, _ in new)
        raise CorruptFileError(
            f"fragments {names} have {rows.sum()} rows, the fragments before them {total}"
        )
    cuts = np.union1d(ranks, firsts[firsts < total])
    run = np.searchsorted(ranks, cuts, side="right") - 1
    fragment = np.searchsorted(firsts, cuts, side="right") - 1
    ids = np.array([id_ for id_, _ in new], np.uint64)
    lengths = np.diff(np.append(cuts, total))
    starts = runs.starts[run] + (cuts - ranks[run])
    return AddressRuns(starts, lengths), (ids[fragment] << _HIGH_BITS) + (cuts - firsts[fragment])
