"""Scalar indices: how long each kind takes to build, and filtered reads that use it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.indices import IndexConfig

from benchmarks.measure import Action, interleaved
from benchmarks.pair import MODULES, Pair
from benchmarks.report import Report
from benchmarks.workloads import WORDS

BUILD_BAR = 0.7
SEARCH_BAR = 1.0

KINDS = {
    "BTREE int64": ("random", "BTREE"),
    "BTREE string": ("code", "BTREE"),
    "BITMAP": ("hundred", "BITMAP"),
    "ZONEMAP": ("sorted", "ZONEMAP"),
    "BLOOMFILTER": ("other", "BLOOMFILTER"),
    "LABEL_LIST": ("labels", "LABEL_LIST"),
}
"""The column and the kind of the index of each build."""

READS = {
    "BTREE = 1 row": "random = {one}",
    "BTREE = 1 string": "code = '{code}'",
    "BTREE IN of 1,000": "random IN ({many})",
    "BTREE range 0.1 %": "random BETWEEN {low} AND {low} + {thousandth}",
    "BTREE range 10 %": "random BETWEEN {low} AND {low} + {tenth}",
    "BITMAP = 1 %": "hundred = 7",
    "ZONEMAP range": "sorted BETWEEN {low} AND {low} + 100",
    "BLOOMFILTER =": "other = {one}",
    "LABEL_LIST has": "array_has(labels, 'label 3')",
}

TEXT_KINDS = {"NGRAM": ("text", "NGRAM")}

TEXT_READS = {
    "NGRAM contains": "contains(text, '{part}')",
    "NGRAM starts_with": "text LIKE '{start}%'",
}

DOCUMENT_KINDS = {
    "JSON": ("document", IndexConfig("json", {"target_index_type": "btree", "path": "number"}))
}

DOCUMENT_READS = {"JSON = 1 row": "json_get_int(document, 'number') = {one}"}


def indices(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Time builds, each in a fresh copy of the table, and reads of a table that pylance indexed."""
    rows = 500_000 if quick else 5_000_000
    case = _Case(report, folder / f"indices-{version}", version, quick)
    table = numbers(rows)
    _time_table(case, table, KINDS, READS, condition_values(table, rows))
    table = texts(rows // 10)
    _time_table(case, table, TEXT_KINDS, TEXT_READS, text_parts(table))
    _time_table(case, documents(rows // 10), DOCUMENT_KINDS, DOCUMENT_READS, {"one": rows // 30})


class _Case(NamedTuple):
    """Where tables of a version are written, and what is reported."""

    report: Report
    path: Path
    version: str
    quick: bool


def _time_table(
    case: _Case,
    table: pa.Table,
    kinds: Mapping[str, tuple[str, Any]],
    reads: Mapping[str, str],
    values: Mapping[str, object],
) -> None:
    """Time the indices of ``kinds`` of a table, and ``reads`` with ``values`` as literals."""
    report, path, version, quick = case
    _write(table, path, version)
    for name, (column, kind) in kinds.items():
        label = f"{version} build {name}, {len(table):,} rows"
        _time_build(report, path, label, column, kind, quick)
    for column, kind in kinds.values():
        lance.dataset(str(path)).create_scalar_index(column, kind)
    pair = Pair(report, path, 5 if quick else 15)
    for label, condition in reads.items():
        read = _read(condition.format(**values))
        pair.again(f"{version} {label}, warm", read, SEARCH_BAR)
        pair.first(f"{version} {label}, cold", read, SEARCH_BAR)
    shutil.rmtree(path)


def _time_build(
    report: Report, path: Path, label: str, column: str, kind: Any, quick: bool
) -> None:
    def build(module: Any) -> Callable[[], object]:
        return lambda: module.dataset(str(path)).create_scalar_index(column, kind, name="built")

    actions: dict[str, Action] = {name: build(module) for name, module in MODULES.items()}
    report.add(label, interleaved(actions, 3 if quick else 5, lambda _: _drop(path)), BUILD_BAR)
    _drop(path)


def _drop(path: Path) -> None:
    dataset = lance.dataset(str(path))
    if any(index["name"] == "built" for index in dataset.list_indices()):
        dataset.drop_index("built")


def _read(condition: str) -> Callable[[Any], pa.Table]:
    return lambda dataset: dataset.to_table(columns=["row"], filter=condition)


def condition_values(table: pa.Table, rows: int) -> dict[str, object]:
    """Literals of the conditions, with the shares of rows that the ranges have."""
    numbers = table["random"].to_numpy()
    return {
        "one": int(numbers[rows // 3]),
        "code": table["code"][rows // 3].as_py(),
        "many": ", ".join(map(str, numbers[:: rows // 1000][:1000].tolist())),
        "low": rows // 2,
        "thousandth": rows // 1000,
        "tenth": rows // 10,
    }


def text_parts(table: pa.Table) -> dict[str, object]:
    """Literals of `TEXT_READS` for a table of `texts`."""
    some = table["text"][len(table) // 3].as_py()
    return {"part": some[6:16], "start": some[:9]}


def _write(table: pa.Table, path: Path, version: str) -> None:
    lance.write_dataset(table, str(path), data_storage_version=version)


def numbers(rows: int) -> pa.Table:
    """A column for each kind; ``random`` and ``other`` have each number below ``rows`` once."""
    rng = np.random.default_rng(18)
    random = rng.permutation(rows)
    labels = pa.array([f"label {number}" for number in range(20)]).take(
        pa.array(rng.integers(0, 20, rows * 3))
    )
    offsets = pa.array(np.arange(0, rows * 3 + 1, 3, np.int32))
    return pa.table(
        {
            "row": np.arange(rows),
            "random": random,
            "code": pa.array([f"code-{number:08d}" for number in random.tolist()]),
            "hundred": rng.integers(0, 100, rows),
            "sorted": np.arange(rows),
            "other": rng.permutation(rows),
            "labels": pa.ListArray.from_arrays(offsets, labels),
        }
    )


def texts(rows: int) -> pa.Table:
    """Rows of eight words, each with a number in base 36."""
    rng = np.random.default_rng(19)
    words = np.array(
        [f"{word}{np.base_repr(n, 36).lower()}" for n, word in enumerate(WORDS.tolist() * 40)]
    )
    columns = [pa.array(words[rng.integers(0, len(words), rows)]) for _ in range(8)]
    return pa.table({"row": np.arange(rows), "text": pc.binary_join_element_wise(*columns, " ")})


def documents(rows: int) -> pa.Table:
    """JSON documents with a number, each below ``rows`` once."""
    random = np.random.default_rng(20).permutation(rows).tolist()
    texts = [f'{{"number": {number}, "name": "document {number}"}}' for number in random]
    return pa.table({"row": np.arange(rows), "document": pa.array(texts, pa.json_())})
