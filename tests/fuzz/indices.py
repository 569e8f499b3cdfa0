"""Damaged indices: a query that cannot use one returns the right rows and warns.

Files of indices have no checksums. So other bytes of stored values, row numbers and bitmaps, or
another number where each is valid, may be another valid index: such mutants may return other rows,
but raise no error. All other damage must be noticed: see `SHARES`.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

import lance_core as lance
from lance_core._pb import table_pb2
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import TableRoot
from lance_core.encodings.version import FileVersion
from lance_core.errors import IndexWarning
from lance_core.index.files import IndexFolder, IndexOutput
from lance_core.plugins import get_manager
from lance_core.store.config import StoreConfig
from lance_core.store.memory import MemoryStore, Objects
from lance_core.table.indices.row_set import RowSet
from lance_core.table.manifest.file import parse_manifest_file, serialize_manifest_file
from lance_core_testing.mutants import Mutant, mutants, mutate_message
from tests.fuzz.index_contents import changes_of
from tests.fuzz.judge import Verdict, judged
from tests.fuzz.tables import Files, files_of
from tests.fuzz.unsealed import without_checksums

ROWS, FILE_ROWS = 480, 120

INDICES = {
    "number": ("btree", {"zone_size": 64}),
    "word": ("btree", {"zone_size": 4096}),
    "few": ("bitmap", {}),
    "flag": ("bitmap", {}),
    "tags": ("label_list", {}),
    "zone": ("zonemap", {"rows_per_zone": 32}),
    "bloom": ("bloomfilter", {"number_of_items": 32}),
    "text": ("ngram", {}),
    "doc": (
        "json",
        {"path": "x", "target_index_type": "btree", "target_index_parameters": {"zone_size": 64}},
    ),
    "mark": ("json", {"path": "$.a.x", "target_index_type": "bitmap"}),
}
"""The columns and their indices. No two have the same files, of values of the same type."""

FILTERS = {
    "number": ("number = 77", "number IN (1, 5, 200, 333)", "number < 40", "NOT (number > 9)"),
    "word": ("word >= 'w3'", "starts_with(word, 'w1')", "word IS NULL", "word != 'w2'"),
    "few": ("few = 3", "few > 1 AND few < 5", "NOT (few = 2)", "few IS NULL"),
    "flag": ("flag", "NOT flag", "flag IS NULL"),
    "tags": (
        "array_has(tags, 't1')",
        "array_has_all(tags, ['t1', 't2'])",
        "NOT array_has(tags, 't1')",
    ),
    "zone": ("zone > 50 AND zone < 60", "zone = 300", "zone IS NULL", "zone IS NOT NULL"),
    "bloom": ("bloom = 42", "bloom IN (1, 300)", "bloom IS NULL"),
    "doc": tuple(
        f"json_get_float(doc, 'x') {rest}" for rest in ("= 38.5", "< 20", "IN (1, 2.5)", "IS NULL")
    ),
    "mark": tuple(
        f"json_get_float(json_get(mark, 'a'), 'x') {rest}" for rest in ("= 1.5", "> 1", "IS NULL")
    ),
    "text": ("contains(text, 'row 12')", "starts_with(text, 'the r')", "text LIKE '%w 4%'"),
}
"""Filters that the index of a column answers."""

_numbers = itertools.count()


def rows() -> pa.Table:
    numbers = range(ROWS)
    return pa.table(
        {
            "number": pa.array([None if n % 31 == 4 else n * 7 % ROWS for n in numbers]),
            "word": pa.array([None if n % 13 == 4 else f"w{n % 5}" for n in numbers]),
            "few": pa.array([None if n % 9 == 4 else n % 7 for n in numbers], pa.int32()),
            "flag": pa.array([None if n % 9 == 2 else n % 3 == 1 for n in numbers]),
            "tags": pa.array(
                [None if n % 11 == 3 else [f"t{n % 4}", f"t{n % 3}"] for n in numbers]
            ),
            "zone": pa.array([None if n % 17 == 5 else n for n in numbers]),
            "bloom": pa.array([None if n % 19 == 5 else n for n in numbers]),
            "text": pa.array([None if n % 8 == 1 else f"the row {n}" for n in numbers]),
            "doc": pa.array(
                [None if n % 31 == 9 else f'{{"x": {n * 7 % ROWS / 2}}}' for n in numbers],
                pa.json_(),
            ),
            "mark": pa.array(
                ["[]" if n % 9 == 5 else f'{{"a": {{"x": {n % 7 / 2}}}}}' for n in numbers],
                pa.json_(),
            ),
        }
    )


@without_checksums
def make_table(*, stable: bool) -> lance.LanceDataset:
    """Four fragments with deleted rows, an index on each column, and a fragment without one."""
    uri = f"memory://indices/{next(_numbers)}"
    dataset = lance.write_dataset(
        rows(), uri, max_rows_per_file=FILE_ROWS, enable_stable_row_ids=stable
    )
    dataset.delete("zone % 10 = 7")
    for column, (kind, parameters) in INDICES.items():
        dataset.create_scalar_index(column, kind, **parameters)
    return lance.write_dataset(rows().slice(0, 40), dataset, mode="append")


@functools.cache
def sound(stable: bool) -> Files:
    """The files of the table: path and bytes of each."""
    return files_of(make_table(stable=stable))


def manifest_of(files: Files) -> str:
    """The path of the newest manifest."""
    return min(path for path in files if path.startswith("_versions/"))


def section_of(files: Files) -> table_pb2.IndexSection:
    """The entries of all indices."""
    raw = parse_manifest_file(files[manifest_of(files)]).index_section
    return table_pb2.IndexSection.FromString(raw or b"")


@without_checksums
def with_section(files: Files, section: table_pb2.IndexSection) -> Files:
    """The table with other entries."""
    path = manifest_of(files)
    file = parse_manifest_file(files[path])
    changed = dataclasses.replace(file, index_section=section.SerializeToString())
    return {**files, path: serialize_manifest_file(changed)}


def entry_of(section: table_pb2.IndexSection, column: str) -> Any:
    """The entry of the index on ``column``."""
    return next(entry for entry in section.indices if entry.name == f"{column}_idx")


def folder_of(files: Files, column: str) -> str:
    """The folder of the index on ``column``."""
    entry = entry_of(section_of(files), column)
    return f"_indices/{uuid.UUID(bytes=entry.uuid.uuid)}"


def paths_of(files: Files, column: str) -> list[str]:
    """The files of the index on ``column``."""
    folder = folder_of(files, column)
    return sorted(path for path in files if path.startswith(f"{folder}/"))


# What is damaged. Each function returns what it does and the files of the table.

Damage = tuple[str, Files]
Damaging = Callable[[Files, str, random.Random], Damage]


def remove_file(files: Files, column: str, chance: random.Random) -> Damage:
    path = chance.choice(paths_of(files, column))
    return f"{path} removed", {name: data for name, data in files.items() if name != path}


def cut_file(files: Files, column: str, chance: random.Random) -> Damage:
    path = chance.choice(paths_of(files, column))
    size = chance.choice([0, 1, 40, chance.randrange(len(files[path]))])
    return f"{path} cut to {size}", {**files, path: files[path][:size]}


def extend_file(files: Files, column: str, chance: random.Random) -> Damage:
    path = chance.choice(paths_of(files, column))
    added = chance.choice([bytes(9), chance.randbytes(100), files[path]])
    return f"{path} with {len(added)} more", {**files, path: files[path] + added}


def clear_file(files: Files, column: str, chance: random.Random) -> Damage:
    path = chance.choice(paths_of(files, column))
    data = chance.choice([bytes, chance.randbytes])(len(files[path]))
    return f"{path} overwritten", {**files, path: data}


def swap_files(files: Files, column: str, chance: random.Random) -> Damage:
    """A file of another index, of another kind or of the same one."""
    path = chance.choice(paths_of(files, column))
    others = [one for other in INDICES if other != column for one in paths_of(files, other)]
    source = chance.choice([one for one in others if len(files[one]) != len(files[path])])
    return f"{path} is {source}", {**files, path: files[source]}


def swap_folders(files: Files, column: str, chance: random.Random) -> Damage:
    """The entry has the folder and the files of an index of another type or kind."""
    section = section_of(files)
    kinds = _likeness(column)
    other = chance.choice([one for one in INDICES if _likeness(one) != kinds])
    entry, source = entry_of(section, column), entry_of(section, other)
    entry.uuid.CopyFrom(source.uuid)
    del entry.files[:]
    entry.files.extend(source.files)
    return f"the folder of {other}", with_section(files, section)


def _likeness(column: str) -> tuple[str, pa.DataType]:
    return INDICES[column][0], rows().schema.field(column).type


def layout_of(column: str) -> str:
    """The type of index whose files the index on ``column`` has."""
    kind, parameters = INDICES[column]
    return str(parameters.get("target_index_type", kind))


def change_kind(files: Files, column: str, chance: random.Random) -> Damage:
    """The entry says that the index is of another kind."""
    section = section_of(files)
    kind = INDICES[column][0]
    other = chance.choice([one for one, (name, _) in INDICES.items() if name != kind])
    entry_of(section, column).index_details.CopyFrom(entry_of(section, other).index_details)
    return f"the details of {other}", with_section(files, section)


def change_sizes(files: Files, column: str, chance: random.Random) -> Damage:
    section = section_of(files)
    file = chance.choice(entry_of(section, column).files)
    size = file.size_bytes
    choices = [0, 1, size - 1, size + 1, size * 2, 1 << 40, (1 << 64) - 1, chance.randrange(size)]
    file.size_bytes = chance.choice(choices)
    return f"{file.path} has {file.size_bytes} bytes, not {size}", with_section(files, section)


def change_paths(files: Files, column: str, chance: random.Random) -> Damage:
    section = section_of(files)
    file = chance.choice(entry_of(section, column).files)
    other = chance.choice(list(INDICES))
    outside = f"../{paths_of(files, other)[0].removeprefix('_indices/')}"
    file.path = chance.choice(["", "..", "/etc/passwd", "a.lance", outside, "x/" + file.path])
    return f"the path {file.path}", with_section(files, section)


def change_details(files: Files, column: str, chance: random.Random) -> Damage:
    section = section_of(files)
    details = entry_of(section, column).index_details
    details.value = chance.choice([b"", b"\xff", chance.randbytes(9), bytes(20), b"\x08\x80"])
    return f"details {details.value!r}", with_section(files, section)


def change_type(files: Files, column: str, chance: random.Random) -> Damage:
    section = section_of(files)
    details = entry_of(section, column).index_details
    url = details.type_url
    choices = [
        "",
        "/",
        url[1:],
        f"{url}X",
        "/other.BTreeIndexDetails",
        url.upper(),
        "/lance.table.",
    ]
    details.type_url = chance.choice(choices)
    return f"type {details.type_url}", with_section(files, section)


def change_version(files: Files, column: str, chance: random.Random) -> Damage:
    section = section_of(files)
    # A negative version is that of the oldest layout, which is another one for BTREE only.
    lower = () if layout_of(column) == "btree" else (-1, -(1 << 31))
    version = chance.choice([2, 3, 10, (1 << 31) - 1, *lower])
    entry_of(section, column).index_version = version
    return f"version {version}", with_section(files, section)


def change_coverage(files: Files, column: str, chance: random.Random) -> Damage:
    """A list of fragments that is damaged, has the other form, has others, or has fewer."""
    from pyroaring import BitMap, BitMap64

    section = section_of(files)
    entry = entry_of(section, column)
    raw = entry.fragment_bitmap
    entry.fragment_bitmap = chance.choice(
        [
            *(b"", b"\0", raw[:-1], raw + b"\0", chance.randbytes(12), bytes(8)),
            BitMap64([0, 1, 2, 3]).serialize(),
            RowSet({0: BitMap([0, 1, 2, 3])}).to_tree_map(),
            *(BitMap(some).serialize() for some in ([0, 2], [1, 9, 1 << 31], [77], [])),
        ]
    )
    return f"coverage {entry.fragment_bitmap!r}", with_section(files, section)


def change_field(files: Files, column: str, chance: random.Random) -> Damage:
    """The index is said to be one of another column, of another type, or of several or none."""
    section = section_of(files)
    kinds = _likeness(column)[1]
    others = [one for one in INDICES if _likeness(one)[1] != kinds]
    entry = entry_of(section, column)
    other = list(entry_of(section, chance.choice(others)).fields)
    fields = chance.choice([other, [], [99], [-1], [*entry.fields, *other]])
    del entry.fields[:]
    entry.fields.extend(fields)
    return f"fields {fields}", with_section(files, section)


def change_base(files: Files, column: str, chance: random.Random) -> Damage:
    section = section_of(files)
    entry_of(section, column).base_id = chance.choice([0, 1, 1 << 31])
    return "another base", with_section(files, section)


def change_uuid(files: Files, column: str, chance: random.Random) -> Damage:
    section = section_of(files)
    entry = entry_of(section, column)
    entry.uuid.uuid = chance.choice([b"", b"\0", chance.randbytes(16), chance.randbytes(17)])
    return f"uuid {entry.uuid.uuid!r}", with_section(files, section)


@without_checksums
def change_section(files: Files, column: str, chance: random.Random) -> Damage:
    """The bytes of all entries, so that it cannot be parsed."""
    path = manifest_of(files)
    file = parse_manifest_file(files[path])
    raw = file.index_section or b""
    raw = chance.choice([raw[:-1], b"\xff" + raw, chance.randbytes(30)])
    changed = dataclasses.replace(file, index_section=raw)
    return "another section", {**files, path: serialize_manifest_file(changed)}


ENTRIES: Sequence[Damaging] = (
    *(change_kind, change_sizes, change_paths, change_details, change_type, change_version),
    *(change_coverage, change_field, change_base, change_uuid, change_section, swap_folders),
)
FILES: Sequence[Damaging] = (remove_file, cut_file, extend_file, clear_file, swap_files)


def change_content(files: Files, column: str, chance: random.Random) -> Damage:
    """A valid file whose columns are not those of the index."""
    path = chance.choice(paths_of(files, column))
    stable = parse_manifest_file(files[manifest_of(files)]).manifest.uses_stable_row_ids
    has_pages = column in ("number", "doc")
    changes = changes_of(layout_of(column), path, stable=stable, has_pages=has_pages)
    change = chance.choice(changes)
    changed, size = rewritten(files, path, lambda table: change(table, chance))
    section = section_of(changed)
    for file in entry_of(section, column).files:
        if path.endswith(f"/{file.path}"):
            file.size_bytes = size
    return f"{path} {change.__name__}", with_section(changed, section)


def change_metadata(files: Files, column: str, chance: random.Random) -> Damage:
    """A valid file with other schema metadata."""
    path = chance.choice(paths_of(files, column))
    values = ["", "x", "-1", "0", "9" * 30, "1.5", "{", "77"]

    def metadata(found: Mapping[str, str]) -> dict[str, str]:
        numeric = ("null_bitmap", "lance:label_list_nulls", "batch_size", "range_partitioned")
        return {
            key: chance.choice(values[1:3] + values[4:]) if key in numeric[:2] else value
            for key, value in found.items()
        }

    changed, size = rewritten(files, path, lambda table: table, metadata)
    section = section_of(changed)
    for file in entry_of(section, column).files:
        if path.endswith(f"/{file.path}"):
            file.size_bytes = size
    return f"{path} with other metadata", with_section(changed, section)


def rewritten(
    files: Files,
    path: str,
    change: Callable[[pa.Table], pa.Table],
    metadata: Callable[[Mapping[str, str]], Mapping[str, str]] = dict,
) -> tuple[Files, int]:
    """The files with the table at ``path`` changed, and the size of the new file."""
    store = MemoryStore(Objects())
    store.put(path, files[path])
    folder, _, name = path.rpartition("/")
    registry = get_manager().encodings
    reader = IndexFolder(store, folder, {}, registry, pa.int64(), 0).reader(name)
    table = change(reader.read().cast(reader.schema.remove_metadata()))
    buffers = [bytes(reader.global_buffer(number)) for number in (1,) if _has_buffer(reader)]
    schema = table.schema.with_metadata(dict(metadata(reader.metadata)))
    output = IndexOutput(store, folder, registry, FileVersion.V2_1, [])
    with output, output.create(name, schema) as file:
        file.write(table.combine_chunks())
        for data in buffers:
            file.add_global_buffer(data)
    data = bytes(store.get(path))
    return {**files, path: data}, len(data)


def _has_buffer(reader: Any) -> bool:
    return bool({"null_bitmap", "lance:label_list_nulls"} & set(reader.metadata))


# Judging.


def root_of(files: Files) -> TableRoot:
    """A table of its own: open indices are cached by address of the table and uuid."""
    store = MemoryStore(Objects())
    for path, data in files.items():
        store.put(path, data)
    config = StoreConfig(f"memory://damaged-indices/{next(_numbers)}")
    return TableRoot(config, store, PutIfAbsentCommitHandler(store), get_manager().encodings)


@functools.cache
def expected(stable: bool) -> dict[str, pa.Table]:
    """The rows of each filter."""
    dataset = lance.LanceDataset.of(open_table.open_version(root_of(sound(stable))))
    return {
        text: dataset.to_table(["zone"], filter=text, use_scalar_index=False)
        for texts in FILTERS.values()
        for text in texts
    }


def outcome(files: Files, column: str, *, stable: bool) -> str:
    """``right``, ``warned`` (and right) or ``other rows``; anything else is raised."""
    wanted = expected(stable)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = lance.LanceDataset.of(open_table.open_version(root_of(files)))
        right = True
        for text in FILTERS[column]:
            right &= dataset.to_table(["zone"], filter=text).equals(wanted[text])
            right &= dataset.count_rows(text) == len(wanted[text])
    assert all(issubclass(one.category, IndexWarning) for one in caught), caught
    if not right:
        return "other rows"
    return "warned" if caught else "right"


def _bytes_of_files(files: Files, column: str, chance: random.Random) -> Damage:
    """Any bytes of a file, mostly its metadata."""
    path = chance.choice(paths_of(files, column))
    (mutant,) = mutants(files[path], 1, chance.getrandbits(32), hot=len(files[path]) // 2)
    return f"{path}: {mutant.kind}", {**files, path: mutant.data}


def _any_entry(files: Files, column: str, chance: random.Random) -> Damage:
    """Any field of an entry."""
    section = section_of(files)
    kind = mutate_message(entry_of(section, column), chance)
    return kind, with_section(files, section)


SHARES: Mapping[str, tuple[Sequence[Damaging], int]] = {
    "files": (FILES, 5),
    "entries": (ENTRIES, 6),
    "contents": ((change_content, change_content, change_metadata), 5),
    "any entry": ((_any_entry,), 2),
    "bytes": ((_bytes_of_files,), 2),
}
"""Kinds of damage, and how many of 20 mutants have each."""

UNDETECTABLE = ("any entry", "bytes")
"""Kinds of damage that may give another valid index, and so other rows."""


def damage(kind: str, count: int, seed: int) -> Verdict:
    """Judge ``count`` mutants with damage of one of the kinds of `SHARES`."""
    chance = random.Random(seed)
    changes, _ = SHARES[kind]
    columns = itertools.cycle(INDICES)
    made: dict[bytes, tuple[Files, str, bool]] = {}

    def found() -> Iterator[Mutant]:
        for number in range(count):
            column, stable = next(columns), number // len(INDICES) % 2 == 1
            text, files = changes[number % len(changes)](sound(stable), column, chance)
            made[b"%d" % number] = files, column, stable
            yield Mutant(f"{column}, stable {stable}: {text}", b"%d" % number)

    def judge(key: bytes) -> str:
        files, column, stable = made.pop(key)
        result = outcome(files, column, stable=stable)
        assert result != "other rows" or kind in UNDETECTABLE, "other rows"
        return result

    for stable in (False, True):
        expected(stable)
    return judged(found(), judge)
