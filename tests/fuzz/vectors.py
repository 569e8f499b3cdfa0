"""Damaged vector indices: a search never fails, and warns or finds rows with their distances.

Files of indices have no checksums: other codes, centroids and row numbers may be another valid
index, by which other rows are found. Whatever is found exists, once, and at the refined distance.
"""

from __future__ import annotations

import itertools
import json
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.message import DecodeError

import lance_core as lance
from lance_core.dataset.snapshot import open_table
from lance_core.encodings.version import FileVersion
from lance_core.errors import IndexWarning, LanceError
from lance_core.hookspecs.indices import IVF, Tensor
from lance_core.index.files import IndexFolder, IndexOutput
from lance_core.plugins import get_manager
from lance_core.store.memory import MemoryStore, Objects
from lance_core_testing.mutants import Mutant, mutants, mutate_message
from tests.fuzz.indices import (
    clear_file,
    cut_file,
    entry_of,
    extend_file,
    paths_of,
    remove_file,
    root_of,
    section_of,
    with_section,
)
from tests.fuzz.judge import Verdict, judged
from tests.fuzz.tables import Files
from tests.fuzz.vector_tables import PARTITIONS, ROWS, K, cases, distances, queries, sound

Damage = tuple[str, Files]
CHECKED = 3
"""Sound tables that are searched before the damaged ones."""

MAINTAINED = 4
"""One of so many mutants is also compacted and optimized."""

EDGES = (0, 1, 2, 3, 7, 8, 255, 256, 1 << 16, (1 << 31) - 1, 1 << 32, (1 << 63) - 1)

# What is damaged. Each function returns what it does and the files of the table.


def any_bytes(files: Files, chance: random.Random) -> Damage:
    """Bytes of a file, often its metadata."""
    path = chance.choice(paths_of(files, "v"))
    hot = chance.choice([0, 400, len(files[path]) // 2])
    (mutant,) = mutants(files[path], 1, chance.getrandbits(32), hot=hot)
    return f"{path}: {mutant.kind}", {**files, path: mutant.data}


def whole_file(files: Files, chance: random.Random) -> Damage:
    """A file that is missing, too short, too long, of zeros, or the other one."""
    first, second = paths_of(files, "v")
    if chance.random() < 0.1:
        return "files exchanged", {**files, first: files[second], second: files[first]}
    change = chance.choice([remove_file, cut_file, extend_file, clear_file])
    return change(files, "v", chance)


def metadata(files: Files, chance: random.Random) -> Damage:
    """A valid file with other metadata: values of JSON documents, numbers of buffers."""
    told = []

    def change(found: Mapping[str, str]) -> dict[str, str]:
        key = chance.choice([name for name in found if name != "lance:file_version"])
        text = _other_text(found[key], chance)
        told.append(f"{key} = {text[:60]}")
        return {**found, key: text}

    path, changed = _rewritten(files, chance, metadata=change)
    return f"{path} {told[0]}", changed


def _other_text(text: str, chance: random.Random) -> str:
    """Another value of metadata, mostly a document with one other value."""
    if chance.random() < 0.2:
        return chance.choice(
            ["", "x", "[]", "{}", "null", "[" * 3000, '["{}"]', "77", "-1", text[:-1]]
        )
    try:
        value = json.loads(text)
    except ValueError:
        return chance.choice(["l2", "cosine", "dot", "hamming", "l3", "L2"])
    if isinstance(value, list) and value and isinstance(value[0], str):
        at = chance.randrange(len(value))
        if chance.random() < 0.2:
            return json.dumps(chance.choice([value + value, value[1:], value[:-1]]))
        value[at] = _other_text(value[at], chance) if value[at] else "{"
        return json.dumps(value)
    return json.dumps(_other_value(value, chance))


def _other_value(value: Any, chance: random.Random) -> Any:
    """``value`` with one part that is another."""
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        if chance.random() < 0.15:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: _other_value(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        return [*value[:at], _other_value(value[at], chance), *value[at + 1 :]]
    others: list[Any] = [None, True, "x", "IVF_PQ", "IVF_FLAT", [], {}, -1, 0.5, *EDGES]
    if isinstance(value, int):
        others += [value + 1, value - 1, value * 2]
    if isinstance(value, float):
        others += [-value, value * 1e30, float("nan"), float("inf")]
    return chance.choice(others)


def message(files: Files, chance: random.Random) -> Damage:
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

    path, changed = _rewritten(files, chance, buffers=change)
    return f"{path} {told[0][:80]}", changed


def partitions(files: Files, chance: random.Random) -> Damage:
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

    path, changed = _rewritten(files, chance, buffers=change)
    return f"{path} other partitions", changed


def _is_ivf(data: bytes) -> bool:
    try:
        return bool(len(IVF.FromString(data).lengths))
    except DecodeError:
        return False  # a tensor, or another message


def columns(files: Files, chance: random.Random) -> Damage:
    """Columns with other names, types, values or fewer rows."""
    told = []

    def change(table: pa.Table) -> pa.Table:
        names = [change_rows, change_type, change_name, fewer_rows, change_values]
        one = chance.choice(names)
        told.append(one.__name__)
        return one(table, chance)

    path, changed = _rewritten(files, chance, table=change)
    return f"{path} {told[0]}", changed


def change_rows(table: pa.Table, chance: random.Random) -> pa.Table:
    """Row numbers that no fragment has, or that another row has, or none."""
    at = table.schema.get_field_index("_rowid")
    if at < 0 or not len(table):
        return change_values(table, chance)
    rows = table.column(at).to_numpy().copy()
    far = [1 << 31, 77 << 32, (1 << 64) - 1, int(rows[0]), 110, (2 << 32) + 5000]
    places = np.array(chance.sample(range(len(rows)), chance.choice([1, 5, len(rows)])))
    rows[places] = chance.choice(far)
    nulls = np.zeros(len(rows), np.bool_)
    nulls[0] = chance.random() < 0.2
    field = table.schema.field(at).with_nullable(True)
    return table.set_column(at, field, pa.array(rows, pa.uint64(), mask=nulls))


def change_type(table: pa.Table, chance: random.Random) -> pa.Table:
    """A column of another type or width."""
    at = chance.randrange(table.num_columns)
    field = table.schema.field(at)
    kinds = [
        pa.float32(),
        pa.int64(),
        pa.string(),
        pa.list_(pa.uint8(), 3),
        pa.list_(pa.uint8(), 64),
    ]
    kind = chance.choice([one for one in kinds if one != field.type])
    if pa.types.is_fixed_size_list(kind):
        flat = pa.array(np.zeros(len(table) * kind.list_size, np.uint8))
        values: Any = pa.FixedSizeListArray.from_arrays(flat, kind.list_size)
    else:
        values = pa.array([0] * len(table), pa.int64()).cast(kind)
    return table.set_column(at, pa.field(field.name, kind), values)


def change_name(table: pa.Table, chance: random.Random) -> pa.Table:
    """A column with another name, or none."""
    at = chance.randrange(table.num_columns)
    if table.num_columns > 1 and chance.random() < 0.5:
        return table.remove_column(at)
    names = list(table.column_names)
    names[at] = "other"
    return table.rename_columns(names)


def fewer_rows(table: pa.Table, chance: random.Random) -> pa.Table:
    """Fewer rows than the partitions have, or more."""
    if not len(table):
        return change_name(table, chance)
    count = chance.choice([0, 1, len(table) - 1, len(table) // 2])
    return chance.choice([table[:count], pa.concat_tables([table, table[: count + 1]])])


def change_values(table: pa.Table, chance: random.Random) -> pa.Table:
    """Codes, vectors, factors, neighbours and ids with extreme values, or nulls."""
    if not len(table):
        return change_name(table, chance)
    at = chance.randrange(table.num_columns)
    field = table.schema.field(at)
    values = table.column(at).combine_chunks()
    values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    nested = pa.types.is_list(field.type) or pa.types.is_fixed_size_list(field.type)
    flat = values.flatten() if nested else values
    if not len(flat):
        return change_name(table, chance)
    numbers = flat.to_numpy(zero_copy_only=False).copy()
    extreme: list[Any] = [0, 1, 255]
    if numbers.dtype.kind == "f":
        extreme += [np.nan, np.inf, -np.inf, 1e38, -1e38]
    else:
        extreme += [np.iinfo(numbers.dtype).max, np.iinfo(numbers.dtype).max // 2]
    places = np.array(
        chance.sample(range(len(numbers)), chance.choice([1, len(numbers) // 4 + 1, len(numbers)]))
    )
    with np.errstate(all="ignore"):
        numbers[places] = np.array(chance.choice(extreme)).astype(numbers.dtype)
    flat = pa.array(numbers, flat.type)
    if pa.types.is_fixed_size_list(field.type):
        made: Any = pa.FixedSizeListArray.from_arrays(flat, field.type.list_size)
        made = made.cast(field.type)
    elif nested:
        made = pa.ListArray.from_arrays(values.offsets, flat).cast(field.type)
    else:
        made = flat
    return table.set_column(at, field, made)


def _rewritten(
    files: Files,
    chance: random.Random,
    *,
    table: Callable[[pa.Table], pa.Table] = lambda one: one,
    metadata: Callable[[Mapping[str, str]], Mapping[str, str]] = dict,
    buffers: Callable[[list[bytes]], list[bytes]] = list,
) -> tuple[str, Files]:
    """The files with one of the index changed and written again, and its path."""
    path = chance.choice(paths_of(files, "v"))
    store = MemoryStore(Objects())
    store.put(path, files[path])
    folder, _, name = path.rpartition("/")
    registry = get_manager().encodings
    reader = IndexFolder(store, folder, {}, registry, pa.int64(), 0).reader(name)
    rows = table(reader.read().cast(reader.schema.remove_metadata()))
    found = []
    for number in itertools.count(1):
        try:
            found.append(reader.global_buffer(number).to_pybytes())
        except LanceError:
            break
    changed = dict(metadata(reader.metadata))
    output = IndexOutput(store, folder, registry, FileVersion.V2_1, [])
    with output, output.create(name, rows.schema.with_metadata(changed)) as file:
        file.write(rows.combine_chunks())
        for data in buffers(found):
            file.add_global_buffer(data)
    data = bytes(store.get(path))
    section = section_of(files)
    for one in entry_of(section, "v").files:
        if path.endswith(f"/{one.path}"):
            one.size_bytes = len(data)
    return path, with_section({**files, path: data}, section)


SHARES: Mapping[str, tuple[Callable[[Files, random.Random], Damage], int]] = {
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
    assert all(issubclass(one.category, IndexWarning) for one in caught), caught
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
            text, files = change(sound(*case), chance)
            made[b"%d" % number] = files
            yield Mutant(f"{case}: {text}", b"%d" % number)

    def judge(key: bytes) -> str:
        result = outcome(made.pop(key), maintained=int(key) % MAINTAINED == 0)
        assert result != "other rows" or kind not in NOTICED, "other rows"
        return result

    for case in chance.sample(every, min(CHECKED, len(every))):
        assert outcome(sound(*case), maintained=False) == "right", case
    return judged(found(), judge)
