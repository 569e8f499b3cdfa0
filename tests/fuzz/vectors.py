"""Damaged vector indices: a search never fails, and warns or finds rows with their distances.

Files of indices have no checksums: other codes, centroids and row numbers may be another valid
index, by which other rows are found. Whatever is found exists, once, and at the refined distance.
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

import lance_core as lance
from lance_core.dataset.snapshot import open_table
from lance_core.errors import IndexWarning, LanceError
from lance_core.hookspecs.indices import IVF, Tensor
from lance_core_testing.mutants import Mutant, mutate_message
from tests.fuzz.index_files import Damage, any_bytes, columns, metadata, rewritten, whole_file
from tests.fuzz.indices import root_of
from tests.fuzz.judge import Verdict, judged
from tests.fuzz.tables import Files
from tests.fuzz.vector_tables import PARTITIONS, ROWS, K, cases, distances, queries, sound

CHECKED = 3
"""Sound tables that are searched before the damaged ones."""

MAINTAINED = 4
"""One of so many mutants is also compacted and optimized."""

# What is damaged. Each function returns what it does and the files of the table.


def message(files: Files, column: str, chance: random.Random) -> Damage:
    """A valid file with another ``IVF`` message or codebook."""
    told = []

    def change(buffers: list[bytes]) -> list[bytes]:
        at = chance.randrange(len(buffers))
        kind = IVF if _is_ivf(buffers[at]) else Tensor
        try:
            parsed = kind.FromString(buffers[at])
        except DecodeError:  # neither: any bytes
            told.append("bytes")
            return [*buffers[:at], chance.randbytes(len(buffers[at])), *buffers[at + 1 :]]
        told.append(f"{kind.__name__} {mutate_message(parsed, chance)}")
        return [*buffers[:at], parsed.SerializeToString(), *buffers[at + 1 :]]

    path, changed = rewritten(files, column, chance, buffers=change)
    return f"{path} {told[0][:80]}", changed


def partitions(files: Files, column: str, chance: random.Random) -> Damage:
    """Partitions that overlap, end beyond the file, are empty or too many."""

    def change(buffers: list[bytes]) -> list[bytes]:
        found = []
        for data in buffers:
            parsed = IVF.FromString(data) if _is_ivf(data) else None
            if parsed is not None and len(parsed.lengths):
                at = chance.randrange(len(parsed.lengths))
                length = chance.choice([0, 1, ROWS, (1 << 32) - 1, parsed.lengths[at] + 1])
                parsed.lengths[at] = length
                if parsed.offsets:
                    offset = chance.choice([0, 1, ROWS, (1 << 62), (1 << 64) - 1])
                    parsed.offsets[chance.randrange(len(parsed.offsets))] = offset
            found.append(data if parsed is None else parsed.SerializeToString())
        return found

    path, changed = rewritten(files, column, chance, buffers=change)
    return f"{path} other partitions", changed


def _is_ivf(data: bytes) -> bool:
    try:
        return bool(len(IVF.FromString(data).lengths))
    except DecodeError:
        return False  # a tensor, or another message


SHARES: Mapping[str, tuple[Callable[[Files, str, random.Random], Damage], int]] = {
    "bytes": (any_bytes, 4),
    "files": (whole_file, 2),
    "metadata": (metadata, 5),
    "messages": (message, 4),
    "partitions": (partitions, 2),
    "columns": (columns, 5),
}
"""Kinds of damage, and how many of 22 mutants have each."""

NOTICED = ("files",)
"""Kinds of damage of which no valid index can result."""


# Judging.


def outcome(files: Files, *, maintained: bool = True) -> str:
    """``right``, ``warned`` (and right) or ``other rows``; anything else is raised.

    ``maintained``: False leaves out compactions and optimizations.
    """
    found = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndexWarning)
        dataset = lance.LanceDataset.of(open_table.open_version(root_of(files)))
    for keys in ({"refine_factor": ROWS // K}, {}, {"nprobes": PARTITIONS}):
        is_refined = "refine_factor" in keys
        for number, query in enumerate(queries()):
            nearest = {"column": "v", "q": query, "k": K, "nprobes": PARTITIONS, **keys}
            found.add(_search(dataset, nearest, number, is_refined=is_refined))
    if maintained:
        _maintain(files)
    for worst in ("other rows", "warned"):
        if worst in found:
            return worst
    return "right"


def _search(
    dataset: lance.LanceDataset, nearest: Mapping[str, Any], number: int, *, is_refined: bool
) -> str:
    expected = distances()[:, number]
    order = np.argsort(expected, kind="stable")[:K]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = dataset.to_table(["id"], nearest=nearest)
    others = [str(one) for one in caught if not issubclass(one.category, IndexWarning)]
    assert not others, others
    rows, own = np.array(table["id"].to_pylist(), np.int64), table["_distance"].to_numpy()
    assert len(set(rows.tolist())) == len(rows) <= K, f"rows {rows.tolist()}"
    assert not np.isnan(expected[rows]).any(), "a row that was deleted"
    is_right = rows.tolist() == order.tolist()
    if caught:
        assert is_right, f"warned, and {rows.tolist()}"
        return "warned"
    if is_refined:
        assert (own == expected[rows]).all(), f"distances {own.tolist()}"
        return "right" if is_right else "other rows"
    assert (own[1:] >= own[:-1]).all(), f"distances {own.tolist()}"
    return "right"


def _maintain(files: Files) -> None:
    """Show, warm up and move the index; only errors of the library may occur."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        dataset = lance.LanceDataset.of(open_table.open_version(root_of(files)))
        for use in (
            dataset.describe_indices,
            lambda: dataset.stats.index_stats("v_idx"),
            lambda: dataset.prewarm_index("v_idx"),
            dataset.optimize.compact_files,
            dataset.optimize.optimize_indices,
        ):
            try:
                use()
            except LanceError:
                continue
        count = dataset.count_rows()
    assert count == ROWS - ROWS // 16, f"{count} rows after maintenance"


def damage(kind: str, count: int, seed: int, only: Sequence[str] = ()) -> Verdict:
    """Judge ``count`` mutants with damage of one of the kinds of `SHARES`."""
    chance = random.Random(seed)
    change, _ = SHARES[kind]
    every = [case for case in cases() if not only or case[0] in only]
    turns = itertools.cycle(chance.sample(every, len(every)))
    made: dict[bytes, Files] = {}

    def found() -> Iterator[Mutant]:
        for number in range(count):
            case = next(turns)
            text, files = change(sound(*case), "v", chance)
            made[b"%d" % number] = files
            yield Mutant(f"{case}: {text}", b"%d" % number)

    def judge(key: bytes) -> str:
        result = outcome(made.pop(key), maintained=int(key) % MAINTAINED == 0)
        assert result != "other rows" or kind not in NOTICED, "other rows"
        return result

    for case in chance.sample(every, min(CHECKED, len(every))):
        assert outcome(sound(*case), maintained=False) == "right", case
    return judged(found(), judge)
