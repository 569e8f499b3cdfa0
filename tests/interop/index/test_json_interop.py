"""JSON indices of both libraries have the same files and give the rows that a scan gives."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader
from lance.indices import IndexConfig

import lance_core
from tests.each_case import each_case
from tests.examples import share

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

BOTH: tuple[Any, Any] = (lance, lance_core)
TARGETS = ("btree", "bitmap", "zonemap", "bloomfilter", "ngram")
MERGEABLE_BY_PYLANCE = ("btree",)
"""Types over values that pylance 14 extends; it refuses to extend the others."""

FIELDS: Mapping[str, list[Any]] = {
    "int": [0, 1, 2, -7, 2**53 + 1, 2**63 - 1, -(2**63), 17],
    "float": [0.5, 1, -2.25, 12345.5, -0.0, 2, 2**53 + 1],
    "string": ["", "alpha", "alphabet", "Äpfel", "\U0001d415x", "7", "true", 'a"\\b'],
    "bool": [True, False],
}
"""Values by the function that reads them; the first of a column has the type of the index."""

CONDITIONS: Mapping[str, Sequence[str]] = {
    "int": [
        *("{} = 17", "{} = 3", "{} IN (0, 2, 5)", "{} != 1", "{} < 2", "{} >= 1 AND {} <= 17"),
        *("{} BETWEEN -7 AND 1", "NOT ({} > 1)", "{} = 1 OR {} > 9007199254740990", "{} = 1.5"),
    ],
    "float": ["{} = 0.5", "{} = 0", "{} = 2", "{} IN (1, 2)", "{} < 0.75", "{} > 0", "NOT {} > 0"],
    "string": [
        *("{} = 'alpha'", "{} != 'alpha'", "{} IN ('', '7', 'x')", "{} > 'b'", "{} LIKE 'alp%'"),
        *("starts_with({}, 'alp')", "contains({}, 'pha')", "{} LIKE '%pha%'", "{} = 'Äpfel'"),
        "regexp_match({}, 'alpha') IS NOT NULL",
    ],
    "bool": ["{}", "NOT {}", "{} = true", "{} IS TRUE", "{} != true", "{} IS NOT FALSE"],
}
"""Conditions on a field, by the function that reads it; those below apply to each."""

OF_NULLS = ("{} IS NULL", "{} IS NOT NULL")


def config(target: str, path: str = "x", **parameters: Any) -> IndexConfig:
    return IndexConfig("json", {"target_index_type": target, "path": path, **parameters})


def documents(kind: str, seed: int, count: int, first: Any = None) -> list[str | None]:
    """Documents with a field ``x`` whose values have a type, some without it or with null."""
    choose = random.Random(seed)
    found: list[str | None] = [] if first is None else [json.dumps({"x": first})]
    for _ in range(count - len(found)):
        value = choose.choice(FIELDS[kind])
        document = {"y": choose.randrange(5), "x": value, "z": [{"x": 1}]}
        texts = json.dumps(document), None, '{"x": null}', '{"y": 3}', "[1, 2]"
        found.append(choose.choices(texts, (12, 1, 1, 1, 1))[0])
    return found


def table(docs: Sequence[str | None], start: int = 0) -> pa.Table:
    return pa.table({"id": np.arange(start, start + len(docs)), "j": pa.array(docs, pa.json_())})


def queries(kind: str, path: str = "x") -> list[str]:
    value = f"json_get_{kind}(j, '{path}')"
    return [one.replace("{}", value) for one in (*CONDITIONS[kind], *OF_NULLS)]


def accepts(target: str, kind: str) -> bool:
    if target == "ngram":
        return kind == "string"
    return target != "bloomfilter" or kind != "bool"


CASES = [(target, kind) for target in TARGETS for kind in FIELDS if accepts(target, kind)]
SOME = [case for case in CASES if case[0] in ("btree", "ngram") or case[1] in ("float", "bool")]
WITH_ROW_IDS = ("btree", "bitmap", "ngram")
"""Types over values with row ids; pylance takes the addresses of the others for row ids."""


def files(uri: Path) -> dict[str, tuple[pa.Schema, dict[bytes, bytes], pa.Table]]:
    """The schema, metadata and rows of each file; rows of a B-tree with equal values are sorted."""
    found = {}
    for path in uri.glob("_indices/*/*.lance"):
        rows = LanceFileReader(str(path)).read_all().to_table()
        metadata = dict(rows.schema.metadata or {})
        if "ids" in rows.column_names:
            rows = rows.sort_by([("values", "ascending"), ("ids", "ascending")])
        found[path.name] = rows.schema, metadata, rows
    return found


def ids(dataset: Any, query: str, **options: Any) -> list[int]:
    """The sorted ids of the rows that satisfy a condition."""
    return sorted(dataset.to_table(["id"], filter=query, **options)["id"].to_pylist())


Answers = dict[str, list[int]]
"""The ids of rows by the condition that they satisfy."""


_turns = itertools.count()


def scanned(uri: Path, kind: str) -> Answers:
    """What scans of pylance find, without any index: for half of the conditions, in turn."""
    dataset = lance.dataset(str(uri))
    some = share(queries(kind), 2, next(_turns))
    return {query: ids(dataset, query, use_scalar_index=False) for query in some}


def check(uri: Path, kind: str, expected: Answers | None = None) -> Answers:
    """Both libraries find the rows that scans of pylance find, which are the result.

    ``expected``: the result of an earlier call, if no row has changed since.
    """
    expected = expected or scanned(uri, kind)
    for library in BOTH:
        dataset = library.dataset(str(uri))
        for query, rows in expected.items():
            assert ids(dataset, query) == rows, (library, query)
    return expected


def uses_index(dataset: Any, query: str) -> bool:
    return "ScalarIndexQuery" in dataset.scanner(filter=query).explain_plan(True)


@each_case("target, kind", CASES)
def test_both_libraries_write_the_same_files_and_read_those_of_the_other(
    tmp_path: Path, target: str, kind: str
) -> None:
    docs = [None, '{"x": null}', *documents(kind, 1, 400, first=FIELDS[kind][0])]
    found, described = [], []
    for library in BOTH:
        uri = tmp_path / library.__name__
        lance.write_dataset(table(docs), uri, max_rows_per_file=150)
        lance.dataset(uri).delete("id % 11 = 5")
        library.dataset(str(uri)).create_scalar_index("j", config(target))
        found.append(files(uri))
        check(uri, kind)
        for one in BOTH:
            dataset = one.dataset(str(uri))
            (index,) = dataset.describe_indices()
            (segment,) = index.segments
            statistics = dataset.stats.index_stats("j_idx")["indices"]
            if kind == "float":  # pylance writes large floats in another way
                statistics[0].pop("max", None)
            described.append(
                {
                    "names": (index.name, index.index_type, index.type_url, index.field_names),
                    "path": index.details["path"],
                    "rows": (index.num_rows_indexed, list(segment.fragment_ids)),
                    "statistics": statistics,
                    "version": segment.index_version,
                }
            )
    assert found[0] == found[1]
    assert all(one == described[0] for one in described), described


@each_case("target, kind", CASES)
def test_conditions_use_the_index_if_pylance_uses_it(
    tmp_path: Path, target: str, kind: str
) -> None:
    uri = tmp_path / "t"
    lance.write_dataset(table(documents(kind, 2, 50, first=FIELDS[kind][0])), uri)
    theirs, ours = (library.dataset(str(uri)) for library in BOTH)
    ours.create_scalar_index("j", config(target))
    theirs = lance.dataset(uri)
    for query in queries(kind):
        assert uses_index(ours, query) >= uses_index(theirs, query), query
    others = ["json_get_int(j, 'y') = 1", "json_extract(j, 'x') = '1'", "json_exists(j, 'x')"]
    for query in [*others, "json_get_int(j, 'X') = 1", "json_get_int(j, '$.x') = 1", "j IS NULL"]:
        assert not uses_index(ours, query), query


CHANGED = [
    *(("2.0", True, *case) for case in share([c for c in SOME if c[0] in WITH_ROW_IDS], 4, 0)),
    *(("2.2", False, *case) for case in share(SOME, 4, 1)),
]
"""Version, stable row ids, type of the index and of its values."""


@each_case("version, stable, target, kind", CHANGED)
def test_indices_follow_all_changes(
    tmp_path: Path, version: str, stable: bool, target: str, kind: str
) -> None:
    uri = tmp_path / "t"
    first = table(documents(kind, 3, 300, first=FIELDS[kind][0]))
    more = table(documents(kind, 4, 90), 300)
    lance.write_dataset(
        first,
        uri,
        max_rows_per_file=100,
        data_storage_version=version,
        enable_stable_row_ids=stable,
    )
    lance.dataset(uri).delete("id % 9 = 4")
    lance_core.dataset(str(uri)).create_scalar_index("j", config(target))
    lance.write_dataset(more, uri, mode="append")
    lance_core.dataset(str(uri)).update({"id": "id + 1000"}, where="id % 10 = 3")
    expected = check(uri, kind)
    ours = lance_core.dataset(str(uri))
    ours.optimize.optimize_indices(num_indices_to_merge=0)
    check(uri, kind, expected)
    assert ours.stats.index_stats("j_idx")["num_unindexed_rows"] == 0
    assert ours.stats.index_stats("j_idx")["num_indices"] == 2
    ours.delete("id % 7 = 2")
    ours.optimize.optimize_indices(num_indices_to_merge=2)
    expected = check(uri, kind)
    ours.optimize.compact_files()
    assert lance_core.dataset(str(uri)).stats.index_stats("j_idx")["num_unindexed_rows"] == 0
    check(uri, kind, expected)
    lance.write_dataset(table(documents(kind, 5, 40), 600), uri, mode="append")
    ours = lance_core.dataset(str(uri))
    ours.optimize.optimize_indices()
    expected = check(uri, kind)
    ours.optimize.optimize_indices(retrain=True)
    check(uri, kind, expected)
    if not stable:
        ours.optimize.compact_files(defer_index_remap=True)
    check(uri, kind, expected)


@each_case("target, kind", SOME)
@each_case("first, second", [BOTH, BOTH[::-1]])
def test_each_library_changes_indices_of_the_other(
    tmp_path: Path, target: str, kind: str, first: Any, second: Any
) -> None:
    uri = tmp_path / "t"
    docs = table(documents(kind, 3, 300, first=FIELDS[kind][0]))
    lance.write_dataset(docs, uri, max_rows_per_file=100)
    first.dataset(str(uri)).create_scalar_index("j", config(target))
    second.dataset(str(uri)).delete("id % 9 = 4")
    second.dataset(str(uri)).optimize.compact_files()
    check(uri, kind)
    lance.write_dataset(table(documents(kind, 4, 60), 300), uri, mode="append")
    if second is lance_core and (first is lance_core or target != "bloomfilter"):
        second.dataset(str(uri)).optimize.optimize_indices()
        assert second.dataset(str(uri)).stats.index_stats("j_idx")["num_unindexed_rows"] == 0
    elif target in MERGEABLE_BY_PYLANCE:
        second.dataset(str(uri)).optimize.optimize_indices()
    check(uri, kind)
