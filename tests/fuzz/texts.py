"""Damaged text indices: a search raises an error of the library, warns and scans, or is right.

Files of indices have no checksums: other postings, lengths and terms may be another valid index,
by which other rows are found, or the same ones with other scores: about 2 % of all mutants.
Whatever is found exists, once, and is sorted.
"""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import lance_core as lance
from lance_core.dataset.snapshot import open_table
from lance_core.errors import IndexWarning, LanceError
from lance_core_testing.mutants import Mutant, mutants
from tests.fuzz.index_files import (
    Damage,
    any_bytes,
    change_name,
    change_rows,
    change_type,
    changed_table,
    fewer_rows,
    metadata,
    whole_file,
)
from tests.fuzz.indices import (
    change_details,
    change_sizes,
    entry_of,
    root_of,
    section_of,
    with_section,
)
from tests.fuzz.judge import Verdict, judged
from tests.fuzz.tables import Files
from tests.fuzz.text_tables import ROWS, Answer, answer, cases, queries, scanned, sound

CHECKED = 2
"""Sound tables that are searched before the damaged ones."""

MEMORY = 256 << 20
"""Bytes that the search of a damaged index may need."""

MAINTAINED = 4
"""One of so many mutants is also compacted and optimized."""

# What is damaged. Each function returns what it does and the files of the table.


def columns(files: Files, column: str, chance: random.Random) -> Damage:
    """Columns with other names, types, row numbers or fewer rows."""
    return changed_table(files, column, chance, (change_rows, change_type, change_name, fewer_rows))


def contents(files: Files, column: str, chance: random.Random) -> Damage:
    """Blocks, terms, lengths and offsets with other values."""
    return changed_table(files, column, chance, (change_blobs, change_blobs, change_numbers))


def change_blobs(table: pa.Table, chance: random.Random) -> pa.Table:
    """Bytes of blocks, positions, terms or a transducer: one is changed, or all are."""
    places = [at for at, field in enumerate(table.schema) if _is_binary(field.type)]
    if not places or not len(table):
        return change_numbers(table, chance)
    at = chance.choice(places)
    field, values = table.schema.field(at), table.column(at).combine_chunks()
    flat = _flat(values)
    blobs = [b"" if blob is None else _bytes(blob) for blob in flat.to_pylist()]
    if not blobs:
        return change_numbers(table, chance)
    longest = sorted(range(len(blobs)), key=lambda number: -len(blobs[number]))
    count = chance.choice([1, 1, 1, len(blobs)])
    for number in [chance.choice(longest[:20])] if count == 1 else range(len(blobs)):
        blobs[number] = _other_bytes(blobs[number], chance)
    if pa.types.is_string(flat.type):
        blobs = [blob.decode("utf-8", "replace").encode() for blob in blobs]
    made = pa.array(blobs, pa.large_binary()).cast(flat.type)
    return table.set_column(at, field, _nested(values, made))


def _other_bytes(blob: bytes, chance: random.Random) -> bytes:
    """Damage of the first bytes, which have widths and ids, of any, or of the length."""
    if blob and chance.random() < 0.4:
        place = chance.randrange(min(len(blob), 12))
        value = chance.choice([0, 1, 31, 32, 33, 127, 128, 255])
        return blob[:place] + bytes([value]) + blob[place + 1 :]
    (mutant,) = mutants(blob or b"\0", 1, chance.getrandbits(32), hot=len(blob))
    return mutant.data


def change_numbers(table: pa.Table, chance: random.Random) -> pa.Table:
    """Lengths, ids, offsets and scores with extreme values."""
    places = [at for at, field in enumerate(table.schema) if _is_number(field.type)]
    if not places or not len(table):
        return change_name(table, chance)
    at = chance.choice(places)
    field, values = table.schema.field(at), table.column(at).combine_chunks()
    numbers = _flat(values).to_numpy(zero_copy_only=False).copy()
    if not len(numbers):
        return change_name(table, chance)
    extreme: list[Any] = [0, 1, 2, 127, 129]
    if numbers.dtype.kind == "f":
        extreme += [np.nan, np.inf, -1.0]
    else:
        extreme += [np.iinfo(numbers.dtype).max, np.iinfo(numbers.dtype).max // 2]
    count = chance.choice([1, 1, len(numbers)])
    numbers[chance.sample(range(len(numbers)), count)] = chance.choice(extreme)
    return table.set_column(at, field, _nested(values, pa.array(numbers)))


def _is_binary(kind: pa.DataType) -> bool:
    while pa.types.is_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_large_binary(kind) or pa.types.is_binary(kind)) or kind == pa.string()


def _is_number(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_list(kind) else kind
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _flat(values: Any) -> pa.Array:
    values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    return _flat(values.values) if pa.types.is_list(values.type) else values


def _nested(values: Any, flat: pa.Array) -> pa.Array:
    """``flat`` in lists as those of ``values``."""
    values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    if not pa.types.is_list(values.type):
        return flat
    inner = _nested(values.values, flat)
    return pa.ListArray.from_arrays(values.offsets, inner).cast(values.type)


def change_version(files: Files, column: str, chance: random.Random) -> Damage:
    """A version of text indices that there is not."""
    section = section_of(files)
    version = chance.choice([4, 5, 10, (1 << 31) - 1])
    entry_of(section, column).index_version = version
    return f"version {version}", with_section(files, section)


def entry(files: Files, column: str, chance: random.Random) -> Damage:
    """Another entry in the manifest: sizes of files, details, version."""
    return chance.choice([change_sizes, change_details, change_version])(files, column, chance)


SHARES: Mapping[str, tuple[Callable[[Files, str, random.Random], Damage], int]] = {
    "bytes": (any_bytes, 5),
    "files": (whole_file, 2),
    "metadata": (metadata, 5),
    "columns": (columns, 4),
    "contents": (contents, 7),
    "entry": (entry, 1),
}
"""Kinds of damage, and how many of 24 mutants have each."""

NOTICED = ("files",)
"""Kinds of damage of which no valid index can result."""


# Judging.


def outcome(case: str, files: Files, *, maintained: bool = True) -> str:
    """``right``, ``warned`` (and scanned), ``error`` or ``other rows``; others are raised.

    ``maintained``: False leaves out compactions and optimizations.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndexWarning)
        dataset = lance.LanceDataset.of(open_table.open_version(root_of(files)))
    found = set[str]()
    for number in range(len(queries(case))):
        found.add(_search(dataset, case, number, has_warned="warned" in found))
    if maintained:
        _maintain(files)
    for worst in ("other rows", "error", "warned"):
        if worst in found:
            return worst
    return "right"


def _search(dataset: lance.LanceDataset, case: str, number: int, *, has_warned: bool) -> str:
    """What a query comes to. Of an index that cannot be used, a dataset warns once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            own = answer(dataset, *queries(case)[number])
        except LanceError:
            return "error"
    assert all(issubclass(one.category, IndexWarning) for one in caught), caught
    scores = list(own.values())
    assert all(id_ % 16 != 7 and 0 <= id_ < ROWS for id_ in own), "a row that there is not"
    assert scores == sorted(scores, reverse=True), f"scores {scores}"
    assert all(map(math.isfinite, scores)), f"scores {scores}"
    if caught:
        assert _alike(own, scanned(case)[number]), f"warned, and {own}"
        return "warned"
    if _alike(own, _expected(case)[number]):
        return "right"
    return "warned" if has_warned and _alike(own, scanned(case)[number]) else "other rows"


def _alike(first: Answer, second: Answer) -> bool:
    return first.keys() == second.keys() and all(
        math.isclose(score, second[id_], rel_tol=1e-5, abs_tol=1e-6) for id_, score in first.items()
    )


_answers: dict[str, list[Answer]] = {}


def _expected(case: str) -> list[Answer]:
    """The answers by the sound index."""
    if case not in _answers:
        dataset = lance.LanceDataset.of(open_table.open_version(root_of(sound(case))))
        _answers[case] = [answer(dataset, *query) for query in queries(case)]
    return _answers[case]


def _maintain(files: Files) -> None:
    """Show, warm up and move the index; only errors of the library may occur."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        dataset = lance.LanceDataset.of(open_table.open_version(root_of(files)))
        for use in (
            dataset.describe_indices,
            lambda: dataset.stats.index_stats("t_idx"),
            lambda: dataset.prewarm_index("t_idx"),
            dataset.optimize.compact_files,
            dataset.optimize.optimize_indices,
        ):
            try:
                use()
            except LanceError:
                continue
        count = dataset.count_rows()
    assert count == ROWS - len(range(7, ROWS, 16)), f"{count} rows after maintenance"


def damage(kind: str, count: int, seed: int) -> Verdict:
    """Judge ``count`` mutants with damage of one of the kinds of `SHARES`."""
    chance = random.Random(seed)
    change, _ = SHARES[kind]
    every: Sequence[str] = cases()
    turns = itertools.cycle(chance.sample(every, len(every)))
    made: dict[bytes, tuple[str, Files]] = {}

    def found() -> Iterator[Mutant]:
        for number in range(count):
            case = next(turns)
            text, files = change(sound(case), "t", chance)
            made[b"%d" % number] = case, files
            yield Mutant(f"{case}: {text}", b"%d" % number)

    def judge(key: bytes) -> str:
        result = outcome(*made.pop(key), maintained=int(key) % MAINTAINED == 0)
        assert result != "other rows" or kind not in NOTICED, "other rows"
        return result

    for case in chance.sample(every, min(CHECKED, len(every))):
        assert outcome(case, sound(case), maintained=False) == "right", case
    return judged(found(), judge, MEMORY)
