"""Damage to the files of an index that ranks rows: bytes, metadata, columns.

Each function returns what it does and the files of the table.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from lance_core.encodings.version import FileVersion
from lance_core.errors import LanceError
from lance_core.index.files import IndexFolder, IndexOutput
from lance_core.plugins import get_manager
from lance_core.store.memory import MemoryStore, Objects
from lance_core_testing.mutants import mutants
from tests.fuzz.indices import (
    clear_file,
    cut_file,
    entry_of,
    extend_file,
    paths_of,
    remove_file,
    section_of,
    with_section,
)
from tests.fuzz.tables import Files

Damage: TypeAlias = tuple[str, Files]
Change: TypeAlias = Callable[[pa.Table, random.Random], pa.Table]

EDGES = (0, 1, 2, 3, 7, 8, 255, 256, 1 << 16, (1 << 31) - 1, 1 << 32, (1 << 63) - 1)


def any_bytes(files: Files, column: str, chance: random.Random) -> Damage:
    """Bytes of a file, often its metadata."""
    path = chance.choice(paths_of(files, column))
    hot = chance.choice([0, 400, len(files[path]) // 2])
    (mutant,) = mutants(files[path], 1, chance.getrandbits(32), hot=hot)
    return f"{path}: {mutant.kind}", {**files, path: mutant.data}


def whole_file(files: Files, column: str, chance: random.Random) -> Damage:
    """A file that is missing, too short, too long, of zeros, or another one."""
    if chance.random() < 0.1:
        first, second = chance.sample(paths_of(files, column), 2)
        return "files exchanged", {**files, first: files[second], second: files[first]}
    change = chance.choice([remove_file, cut_file, extend_file, clear_file])
    return change(files, column, chance)


def metadata(files: Files, column: str, chance: random.Random) -> Damage:
    """A valid file with other metadata: values of JSON documents, numbers of buffers."""
    told = []

    def change(found: Mapping[str, str]) -> dict[str, str]:
        names = [name for name in found if name != "lance:file_version"]
        key = chance.choice(names or ["format_version"])
        text = _other_text(found.get(key, ""), chance)
        told.append(f"{key} = {text[:60]}")
        return {**found, key: text}

    path, changed = rewritten(files, column, chance, metadata=change)
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


def columns(files: Files, column: str, chance: random.Random) -> Damage:
    """Columns with other names, types, values or fewer rows."""
    every = (change_rows, change_type, change_name, fewer_rows, change_values)
    return changed_table(files, column, chance, every)


def changed_table(
    files: Files, column: str, chance: random.Random, changes: Sequence[Change]
) -> Damage:
    """A valid file whose table one of ``changes`` has changed."""
    change = chance.choice(changes)
    path, changed = rewritten(files, column, chance, table=lambda table: change(table, chance))
    return f"{path} {change.__name__}", changed


def change_rows(table: pa.Table, chance: random.Random) -> pa.Table:
    """Row numbers that no fragment has, or that another row has, or none."""
    at = table.schema.get_field_index("_rowid")
    if at < 0 or not len(table):
        return fewer_rows(table, chance)
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


def rewritten(
    files: Files,
    column: str,
    chance: random.Random,
    *,
    table: Callable[[pa.Table], pa.Table] = lambda one: one,
    metadata: Callable[[Mapping[str, str]], Mapping[str, str]] = dict,
    buffers: Callable[[list[bytes]], list[bytes]] = list,
) -> tuple[str, Files]:
    """The files with one of the index changed and written again, and its path."""
    path = chance.choice(paths_of(files, column))
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
    for one in entry_of(section, column).files:
        if path.endswith(f"/{one.path}"):
            one.size_bytes = len(data)
    return path, with_section({**files, path: data}, section)
