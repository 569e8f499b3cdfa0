"""Every kind of index of every type of column, made and changed by both libraries.

Filters return the rows that they return without indices, and use an index where one can answer.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lance
import pyarrow as pa
import pytest
from lance.indices import IndexConfig

import lance_core
from tests.examples import share
from tests.interop.index.index_columns import (
    BITMAP,
    BLOOMFILTER,
    BTREE,
    LABEL_LIST,
    NGRAM,
    OLD_TYPES,
    SIZES,
    ZONEMAP,
    Condition,
    conditions,
    paths,
    table_of,
)

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

ROWS, FILE_ROWS, MORE = 240, 60, 40
VERSIONS = ("2.0", "2.1", "2.2")
Libraries = tuple[Any, Any]
BOTH: Libraries = (lance, lance_core)


class Case(NamedTuple):
    """``maker`` creates the indices of a table of ``version``; ``other`` is the other library."""

    kind: str
    history: str
    stable: bool
    maker: Any
    other: Any
    version: str


def append(library: Any, uri: str) -> None:
    dataset = lance.dataset(uri)
    paths_ = [name for name in dataset.schema.names if name not in ("row", "few", "outer")]
    if "outer" in dataset.schema.names:
        paths_ += _members(dataset.schema)
    start = max(dataset.to_table(["row"])["row"].to_pylist()) + 1
    library.write_dataset(
        table_of(paths_, start, MORE, dataset.data_storage_version), uri, mode="append"
    )


def _members(schema: pa.Schema) -> Iterator[str]:
    for field in schema.field("outer").type:
        if pa.types.is_struct(field.type):
            yield from (f"outer.{field.name}.{inner.name}" for inner in field.type)
        else:
            yield f"outer.{field.name}"


def delete(library: Any, uri: str) -> None:
    step = 5 + lance.dataset(uri).version % 7
    library.dataset(uri).delete(f"row % {step} = 3")


def update(library: Any, uri: str) -> None:
    """Move rows to another fragment; all columns are written again."""
    names = [name for name in lance.dataset(uri).schema.names if name not in ("row", "outer")]
    # Of a list, pylance cannot compute the new value.
    changed = {name: "NULL" for name in names[:2] if "list" not in name and name != "few"}
    library.dataset(uri).update({**changed, "few": "few + 1"}, where="row % 9 = 4")


def merge(library: Any, uri: str) -> None:
    dataset = lance.dataset(uri)
    rows = dataset.to_table(filter="row % 10 = 6").slice(0, 20).combine_chunks()
    turned = rows.take(pa.array(range(len(rows) - 1, -1, -1)))
    rows = turned.set_column(rows.schema.get_field_index("row"), "row", rows["row"])
    insert = library.dataset(uri).merge_insert("row")
    insert.when_matched_update_all().when_not_matched_insert_all().execute(rows)


def compact(library: Any, uri: str) -> None:
    library.dataset(uri).optimize.compact_files(target_rows_per_fragment=2 * FILE_ROWS)


def compact_and_defer(library: Any, uri: str) -> None:
    dataset = library.dataset(uri)
    # With stable row ids there is nothing to defer.
    options = {} if dataset.has_stable_row_ids else {"defer_index_remap": True}
    dataset.optimize.compact_files(target_rows_per_fragment=2 * FILE_ROWS, **options)


def optimize(library: Any, uri: str) -> None:
    library.dataset(uri).optimize.optimize_indices()


def add_segments(library: Any, uri: str) -> None:
    optimize_segments(library, uri, 0)


def merge_segments(library: Any, uri: str) -> None:
    optimize_segments(library, uri, 5)


def optimize_segments(library: Any, uri: str, count: int) -> None:
    options: dict[str, Any] = {"num_indices_to_merge": count}
    if library is lance:
        # With this option, pylance 14.0.2 does not find columns in structs.
        names = {index["name"] for index in lance_core.dataset(uri).list_indices()}
        nested = sorted(name for name in names if "." in name)
        lance_core.dataset(uri).optimize.optimize_indices(index_names=nested, **options)
        options["index_names"] = sorted(names.difference(nested))
    library.dataset(uri).optimize.optimize_indices(**options)


Change = Callable[[Any, str], None]
MAKER, OTHER = 0, 1
HISTORIES: dict[str, Sequence[tuple[Change, int]]] = {
    "changed": ((delete, OTHER), (update, MAKER), (append, OTHER)),
    "segments": (
        *((append, MAKER), (add_segments, OTHER), (delete, MAKER)),
        *((append, OTHER), (add_segments, MAKER), (append, MAKER)),
    ),
    "merged segments": (
        *((append, MAKER), (add_segments, MAKER), (delete, OTHER), (append, OTHER)),
        *((merge_segments, OTHER), (merge, MAKER)),
    ),
    "compacted": ((delete, MAKER), (append, OTHER), (compact, OTHER), (delete, OTHER)),
    "deferred": ((update, OTHER), (delete, MAKER), (compact_and_defer, MAKER), (append, MAKER)),
    "optimized": (
        *((delete, MAKER), (compact, MAKER), (append, OTHER), (optimize, OTHER)),
        *((merge, OTHER), (delete, OTHER), (optimize, MAKER), (delete, MAKER)),
    ),
}
COMPACTED = ("compacted", "deferred")
"""Histories in which pylance may compact, and nothing is optimized later."""

KINDS = (BTREE, BITMAP, ZONEMAP, BLOOMFILTER, NGRAM, LABEL_LIST)


def all_cases() -> list[Case]:
    """All kinds with all histories, on plain tables and with stable row ids, from both libraries.

    Versions take turns.
    """
    turns = itertools.product(HISTORIES, KINDS, (False, True), (BOTH, BOTH[::-1]))
    cases = [
        Case(kind, history, stable, *libraries, VERSIONS[turn % 5 % 3])
        for turn, (history, kind, stable, libraries) in enumerate(turns)
    ]
    old = zip(KINDS, HISTORIES, strict=True)
    return cases + [Case(kind, history, False, *BOTH, "0.1") for kind, history in old]


CASES = all_cases()


def named(case: Case) -> str:
    ids = "stable" if case.stable else "plain"
    return f"{case.kind}-{case.history}-{ids}-{case.maker.__name__}-{case.version}"


def create(case: Case, uri: str, names: Sequence[str]) -> None:
    """A table with an index on each column; some of them have two segments."""
    lance.write_dataset(
        table_of(names, 0, ROWS, case.version),
        uri,
        max_rows_per_file=FILE_ROWS,
        max_rows_per_group=FILE_ROWS,
        enable_stable_row_ids=case.stable,
        data_storage_version=case.version if case.version != "0.1" else "legacy",
    )
    lance.dataset(uri).delete("row % 17 = 2")
    dataset = case.maker.dataset(uri)
    dataset.create_scalar_index("few", BTREE)
    for number, name in enumerate(names):
        if number % 3 == 1:
            create_segments(case, dataset, name)
        elif case.kind in SIZES:
            parameters = {SIZES[case.kind]: 16}
            dataset.create_scalar_index(name, IndexConfig(case.kind.lower(), parameters))
        else:
            dataset.create_scalar_index(name, case.kind)


def create_segments(case: Case, dataset: Any, name: str) -> None:
    """Two segments, the second of which does not cover the last fragment."""
    parts = [
        dataset.create_index_uncommitted(name, case.kind, name=f"{name}_idx", fragment_ids=ids)
        for ids in ([0, 1], [2])
    ]
    dataset.commit_existing_index_segments(f"{name}_idx", name, parts)


def differences(
    case: Case, uri: str, name: str, condition: Condition, *, is_used: bool
) -> Iterator[str]:
    """What is wrong with the answer to ``condition``. ``is_used``: the index covers fragments."""
    ours, theirs = lance_core.dataset(uri), lance.dataset(uri)
    text = condition.text
    expected = ours.to_table(["row"], filter=text, use_scalar_index=False)
    if not ours.to_table(["row"], filter=text).equals(expected):
        yield "rows"
    if ours.count_rows(text) != len(expected):
        yield "count"
    if is_used and case.kind in condition.kinds:
        plan = ours.scanner(filter=text).explain_plan()
        if f"@{name}_idx(" not in plan:
            yield f"plan {plan}"
    wanted = sorted(expected["row"].to_pylist())
    text = condition.pylance
    found = sorted(theirs.to_table(["row"], filter=text)["row"].to_pylist())
    if found != wanted and not lacks_only_low_nans(case, ours, name, wanted, found):
        plain = theirs.to_table(["row"], filter=text, use_scalar_index=False)
        yield f"pylance, {len(found)} rows, {len(plain)} without index, not {len(wanted)}"


def lacks_only_low_nans(
    case: Case, dataset: Any, name: str, wanted: Sequence[int], found: Sequence[int]
) -> bool:
    """True if ``found`` lacks NaN with a sign, which is below all numbers, and nothing else.

    pylance does not search for them in zones without a lower number; its scans find them.
    """
    rows = ", ".join(map(str, {*wanted} - {*found}))
    if case.kind != ZONEMAP or not rows or not {*found} < {*wanted}:
        return False
    missed = dataset.to_table([name], filter=f"row IN ({rows})").column(0).to_pylist()
    return all(isinstance(one, float) and math.isnan(one) for one in missed)


def check(
    case: Case, uri: str, names: Sequence[str], turn: int, *, is_used: bool, is_last: bool
) -> list[str]:
    columns = paths(case.kind)
    wrong = []
    for number, name in enumerate(names):
        every = list(conditions(name, columns[name]))
        some = share(every, 6, turn + number) if is_last else every[(turn + number) % 6 :: 6]
        for condition in some:
            found = differences(case, uri, name, condition, is_used=is_used)
            wrong += [f"{condition.text}: {one}" for one in found]
    return wrong


@functools.cache
def chosen() -> Sequence[tuple[int, Case]]:
    return share(list(enumerate(CASES)), 13, 0)


@pytest.mark.parametrize(
    ("turn", "case"), chosen(), ids=lambda one: named(one) if isinstance(one, Case) else str(one)
)
def test_filters_return_the_rows_of_a_scan(tmp_path: Path, turn: int, case: Case) -> None:
    # Each column has each history once, with the combinations of ids and libraries in turn.
    quarter = turn // 24 + turn % 4
    names = share(list(paths(case.kind))[quarter % 4 :: 4], 3, turn)
    if case.version == "0.1":
        names = [name for name in names if name in OLD_TYPES]
    uri = str(tmp_path / "t")
    create(case, uri, names)
    wrong = check(case, uri, names, turn, is_used=True, is_last=False)
    for change, who in HISTORIES[case.history]:
        change((case.maker, case.other)[who], uri)
    # Compactions of pylance leave indices of zones without coverage.
    is_used = case.kind not in (ZONEMAP, BLOOMFILTER) or case.history not in COMPACTED
    wrong += check(case, uri, names, turn + 1, is_used=is_used, is_last=True)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("library", BOTH, ids=["pylance", "lance-core"])
def test_optimization_removes_the_old_values_of_rows_with_stable_ids(
    tmp_path: Path, library: Any
) -> None:
    uri = str(tmp_path / "t")
    rows = table_of(["u8"], 0, 90, "2.1").set_column(2, "u8", pa.array([1, 2, 3] * 30, pa.uint8()))
    lance.write_dataset(rows, uri, max_rows_per_file=30, enable_stable_row_ids=True)
    dataset = lance.dataset(uri)
    parts = [
        dataset.create_index_uncommitted("u8", BITMAP, name="u8_idx", fragment_ids=[id_])
        for id_ in range(3)
    ]
    dataset.commit_existing_index_segments("u8_idx", "u8", parts)
    lance.dataset(uri).update({"u8": "9"}, where="row IN (0, 3, 6)")
    library.dataset(uri).optimize.optimize_indices()
    (index,) = lance.dataset(uri).describe_indices()
    assert sorted(sorted(one.fragment_ids) for one in index.segments) == [[0, 2, 3], [1]]
    for reader in BOTH:
        assert len(reader.dataset(uri).to_table(filter="u8 = 1")) == 27
        assert reader.dataset(uri).count_rows("u8 = 9") == 3
