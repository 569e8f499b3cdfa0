"""Tables of many files: fragments of few rows, and up to 100,000 fragments."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

from benchmarks.bars import MANY_FRAGMENTS, SCAN_OF_FRAGMENTS
from benchmarks.pair import Pair, link_fragments
from benchmarks.report import Report
from benchmarks.workloads import WORDS, list_offsets, nested, wide

SELECTIVE = "i32 < 1000"
"""Keeps 0.1 % of the rows, which are spread over all fragments."""

ROWS = 2_000_000
SIZES = (1_000_000, 20_000, 1_000)
"""Rows of a fragment."""

SINGLE, FEW, MANY = 300, 10_000, 100_000
"""Numbers of fragments, of one row or with linked files."""


def small_files(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Time reads of the 14 columns of the workload ``wide`` in fragments of different sizes."""
    rounds = 3 if quick else 5
    path = folder / "small"
    data = wide(ROWS // 50 if quick else ROWS)
    for size in SIZES:
        bar = SCAN_OF_FRAGMENTS[size]
        lance.write_dataset(data, str(path), max_rows_per_file=size, data_storage_version=version)
        label = f"{version} fragments of {size:,} rows"
        pair = Pair(report, path, rounds)
        pair.first(f"{label}: scan", _scan, bar)
        pair.again(f"{label}: scan again", _scan, bar)
        if size == min(SIZES):
            label = f"{version} {len(data) // size:,} fragments"
            pair.first(f"{label}: filter 0.1 %", _filter, MANY_FRAGMENTS)
            pair.again(f"{label}: filter 0.1 % again", _filter, MANY_FRAGMENTS)
            _takes(pair, label, len(data))
        shutil.rmtree(path)
    count = SINGLE // 10 if quick else SINGLE
    rows = data.slice(0, count)
    lance.write_dataset(rows, str(path), max_rows_per_file=1, data_storage_version=version)
    label = f"{version} {count} fragments of 1 row: scan"
    Pair(report, path, rounds).first(label, _scan, SCAN_OF_FRAGMENTS[1])
    shutil.rmtree(path)
    _parts(report, path, version, quick)
    _many(report, folder, version, quick)


def _takes(pair: Pair, label: str, rows: int) -> None:
    taken = np.sort(np.random.default_rng(3).integers(0, rows, 100)).tolist()
    pair.first(f"{label}: take 100 rows", lambda table: table.take(taken), MANY_FRAGMENTS)
    pair.again(f"{label}: take 100 rows again", lambda table: table.take(taken), MANY_FRAGMENTS)


def _parts(report: Report, path: Path, version: str, quick: bool) -> None:
    """Time reads of lists and structs in fragments of 1,000 rows; 2.0 cannot store the nulls."""
    if version == "2.0":
        return
    data = nested_with_nulls(ROWS // 100 if quick else ROWS // 4)
    size = min(SIZES)
    lance.write_dataset(data, str(path), max_rows_per_file=size, data_storage_version=version)
    pair = Pair(report, path, 3 if quick else 5)
    label = f"{version} {len(data) // size:,} fragments, nested"
    pair.first(f"{label}: scan", _scan, MANY_FRAGMENTS)
    pair.again(f"{label}: scan again", _scan, MANY_FRAGMENTS)
    _takes(pair, label, len(data))
    shutil.rmtree(path)


def nested_with_nulls(rows: int) -> pa.Table:
    """Lists of structs and of texts, and structs; two in three fragments have no null of a kind."""
    rng = np.random.default_rng(10)

    def nulls() -> np.ndarray:
        return rng.random(rows) < 0.0004

    data = nested(rows)
    lists = data["items"].combine_chunks()
    edges = list_offsets(rng, rows, 3)
    words = pa.array(WORDS[rng.integers(0, len(WORDS), int(edges[-1]))])
    members = [rng.integers(0, 10**6, rows), pa.array(rng.random(rows), mask=nulls())]
    return pa.table(
        {
            "id": data["id"],
            "items": pa.ListArray.from_arrays(lists.offsets, lists.values, mask=pa.array(nulls())),
            "words": pa.ListArray.from_arrays(edges, words, mask=pa.array(nulls())),
            "place": pa.StructArray.from_arrays(members, ["x", "y"], mask=pa.array(nulls())),
        }
    )


def _many(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Time what needs only a few of very many fragments."""
    rounds = 3 if quick else 5
    few, many = (FEW // 100, MANY // 100) if quick else (FEW, MANY)
    source, path = folder / "source", folder / "many"
    lance.write_dataset(wide(10), str(source), data_storage_version=version)
    link_fragments(source, path, few)
    label = f"{version} {few:,} fragments: open, count, first batch"
    Pair(report, path, rounds).with_opening(label, _open_and_begin, MANY_FRAGMENTS)
    shutil.rmtree(path)
    link_fragments(source, path, many)
    pair = Pair(report, path, rounds)
    pair.first(
        f"{version} {many:,} fragments: head(10)", lambda table: table.head(10), MANY_FRAGMENTS
    )
    pair.first(f"{version} {many:,} fragments: first batch", _first_batch, MANY_FRAGMENTS)
    pair.first(f"{version} {many:,} fragments: get_fragments()", _fragments, MANY_FRAGMENTS)
    shutil.rmtree(path)
    shutil.rmtree(source)


def _scan(table: Any) -> object:
    return table.to_table()


def _filter(table: Any) -> object:
    return table.to_table(filter=SELECTIVE)


def _open_and_begin(table: Any) -> object:
    return table.count_rows(), _first_batch(table)


def _first_batch(table: Any) -> object:
    return next(iter(table.to_batches()))


def _fragments(table: Any) -> int:
    return len(table.get_fragments())
