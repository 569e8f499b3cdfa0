"""Maps of addresses agree with a plain model of rewrites."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core.errors import CorruptFileError
from lance_core.table.indices.address_map import AddressMap, AddressRuns
from lance_core.table.indices.reuse_index import (
    FragmentDigest,
    ReuseGroup,
    ReuseVersion,
    address_bitmap,
)
from lance_core.table.indices.row_set import RowSet


def addresses(id_: int, rows: int) -> list[int]:
    return [(id_ << 32) + offset for offset in range(rows)]


def divided(rows: int, random: np.random.Generator) -> list[int]:
    """``rows`` in parts, of which one may be empty."""
    cuts = np.sort(random.integers(0, rows + 1, 2)).tolist()
    return [cuts[0], cuts[1] - cuts[0], rows - cuts[1]]


def test_rows_are_where_successive_rewrites_have_stored_them() -> None:
    random = np.random.default_rng(3)
    present = {id_: int(random.integers(0, 40)) for id_ in range(9)}
    model = {one: one for id_, rows in present.items() for one in addresses(id_, rows)}
    everything = np.array([*model, 77 << 32], np.uint64)
    whole, versions, map_ = RowSet.of(everything), [], AddressMap()
    next_id = 9
    for _ in range(4):
        old = random.choice(sorted(present), 4, replace=False).tolist()
        ids, groups, moved, reused = iter(range(next_id, next_id + 6)), [], dict[int, int](), []
        next_id += 6
        for members in (sorted(old[:2]), sorted(old[2:])):
            deleted = [
                np.flatnonzero(random.random(present[one]) < 0.4).astype(np.uint32)
                for one in members
            ]
            sources = [(m, present.pop(m), d) for m, d in zip(members, deleted, strict=True)]
            live = [a for m, n, d in sources for a in np.delete(addresses(m, n), d).tolist()]
            new = [(next(ids), rows) for rows in divided(len(live), random)]
            present.update(new)
            moved |= dict(zip(live, [a for one in new for a in addresses(*one)], strict=True))
            groups.append((members, AddressRuns.of_live_rows(sources), new))
            before = tuple(FragmentDigest(id_, rows) for id_, rows, _ in sources)
            after = tuple(FragmentDigest(id_, rows) for id_, rows in new)
            reused.append(ReuseGroup(address_bitmap(sources), before, after))
        versions.append(ReuseVersion(1, tuple(reused)))
        map_ = map_.then(AddressMap.of_groups(groups))
        model = {
            first: moved.get(now, now)
            for first, now in model.items()
            if now in moved or now >> 32 not in old
        }
        for same in (map_, AddressMap.of_versions(versions)):
            now, kept = same.moved(everything)
            assert dict(zip(everything[kept].tolist(), now[kept].tolist(), strict=True)) == {
                **model,
                77 << 32: 77 << 32,
            }
            assert same.moved_set(whole).numbers().tolist() == sorted([*model.values(), 77 << 32])
    assert map_.nbytes > 0


def test_a_set_of_whole_fragments_keeps_their_live_rows() -> None:
    deleted = np.array([1, 2], np.uint32)
    runs = AddressRuns.of_live_rows([(0, 5, deleted), (1, 2, None)])
    map_ = AddressMap.of_groups([([0, 1], runs, [(7, 4), (8, 1)])])
    found = map_.moved_set(RowSet({0: None, 1: RowSet.of_ranges([(1, 0, 1)]).bitmaps[1], 3: None}))
    assert {high: bits and list(bits) for high, bits in found.bitmaps.items()} == {
        7: [0, 1, 2, 3],
        3: None,
    }


def test_a_rewrite_without_rows_keeps_none() -> None:
    map_ = AddressMap.of_groups([([4], AddressRuns.of_live_rows([]), [])])
    now, kept = map_.moved(np.array([4 << 32, 5 << 32], np.uint64))
    assert kept.tolist() == [False, True]
    assert now[1] == 5 << 32


def test_groups_with_another_number_of_rows_are_corrupt() -> None:
    for new in ([], [(5, 2)], [(5, 1), (6, 3)]):
        with pytest.raises(CorruptFileError, match="rows"):
            AddressMap.of_groups([([0], AddressRuns.of_live_rows([(0, 3, None)]), new)])
