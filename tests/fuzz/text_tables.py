"""The sound tables with text indices of every format, and what searches of them find."""

from __future__ import annotations

import functools
import itertools
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

import lance_core as lance
from lance_core.query import BooleanQuery, FullTextOperator, MatchQuery, Occur, PhraseQuery
from tests.fuzz.tables import Files, files_of
from tests.fuzz.unsealed import without_checksums
from tests.text.corpus import texts

ROWS, FILE_ROWS = 420, 150
"""Frequent words have several blocks."""

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "ours": ("lance_core", {}),
    "ours, positions": ("lance_core", {"with_position": True}),
    "pylance": ("lance", {}),
    "format 1": ("lance", {"with_position": True, "format_version": 1}),
    "format 2": ("lance", {"with_position": True}),
    "format 3": ("lance", {"with_position": True, "block_size": 256}),
}
"""Who builds an index, and its parameters, by name."""

Answer = dict[int, float]
"""The score of each row by its id, in the order of an answer."""

_numbers = itertools.count()


def cases() -> tuple[str, ...]:
    """The names of tables that can be made: pylance need not be installed."""
    return tuple(name for name, (library, _) in CASES.items() if find_spec(library))


def queries(case: str) -> list[tuple[Any, dict[str, Any]]]:
    """Queries, and options of their scans."""

    def match(text: str, **options: Any) -> MatchQuery:
        return MatchQuery(text, "t", **options)

    clauses = [(Occur.MUST, match("w1")), (Occur.MUST_NOT, match("w2"))]
    found: list[tuple[Any, dict[str, Any]]] = [
        (match("w0 w7"), {}),
        (match("w0 w40"), {"limit": 10}),
        (match("w1 w3", operator=FullTextOperator.AND), {"filter": "id < 200"}),
        (match("w12", fuzziness=1), {}),
        (BooleanQuery(clauses), {}),
    ]
    if CASES[case][1].get("with_position"):
        found.append((PhraseQuery("w1 w0", "t"), {}))
    return found


def _rows() -> pa.Table:
    return pa.table({"id": range(ROWS), "t": texts(ROWS, seed=5)})


@functools.cache
@without_checksums
def sound(case: str) -> Files:
    """The files of a table of three fragments with deleted rows and an index."""
    library, parameters = CASES[case]
    if library == "lance":
        return _by_pylance(parameters)
    dataset = _without_index()
    dataset.create_scalar_index("t", "INVERTED", **parameters)
    dataset.delete("id % 16 = 7")
    return files_of(dataset)


def _by_pylance(parameters: dict[str, Any]) -> Files:
    import lance as pylance  # it need not be installed

    with tempfile.TemporaryDirectory() as folder:
        dataset = pylance.write_dataset(_rows(), f"{folder}/t", max_rows_per_file=FILE_ROWS)
        dataset.create_scalar_index("t", "INVERTED", **parameters)
        pylance.dataset(f"{folder}/t").delete("id % 16 = 7")
        root = Path(folder, "t")
        paths = [path for path in root.rglob("*") if path.is_file()]
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def _without_index() -> lance.LanceDataset:
    uri = f"memory://texts/{next(_numbers)}"
    return lance.write_dataset(_rows(), uri, max_rows_per_file=FILE_ROWS)


@functools.cache
def scanned(case: str) -> list[Answer]:
    """The answers to all queries without an index."""
    dataset = _without_index()
    dataset.delete("id % 16 = 7")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [answer(dataset, query, options) for query, options in queries(case)]


def answer(dataset: lance.LanceDataset, query: Any, options: dict[str, Any]) -> Answer:
    """The rows that match."""
    table = dataset.to_table(["id"], full_text_query=query, **options)
    ids, scores = table["id"].to_pylist(), table["_score"].to_pylist()
    assert len(ids) == len(set(ids)), "a row is returned twice"
    return dict(zip(ids, scores, strict=True))
