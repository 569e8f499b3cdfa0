"""Types of index that store all values and rows in one file, and test them one by one."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import lance_core
from lance_core.hookspecs import IndexTypeSpec, hookimpl
from lance_core.index.base import (
    IndexPart,
    IndexRows,
    IndexType,
    OpenIndex,
    Precision,
    SearchResult,
)
from lance_core.index.files import IndexFolder, IndexOutput
from lance_core.index.queries import (
    Contains,
    HasAny,
    IndexQuery,
    InRange,
    IsIn,
    IsNull,
    MatchesRegex,
    StartsWith,
)
from lance_core.plugins import get_manager
from lance_core.table.indices.row_set import RowSet

FILE = "brute.lance"


def keys(values: pa.Array) -> Any:
    """Comparable values; floats as integers in total order."""
    if pa.types.is_floating(values.type):
        wide = np.asarray(values.cast(pa.float64()).fill_null(0), np.float64).view(np.int64)
        return np.where(wide < 0, wide ^ np.int64(0x7FFFFFFFFFFFFFFF), wide)
    found = np.empty(len(values), object)
    found[:] = values.to_pylist()
    return found


def key(value: pa.Scalar) -> Any:
    return keys(pa.array([value.as_py()], value.type))[0]


def passes(query: IndexQuery, values: pa.Array) -> Any:
    """True for the values that are not null and satisfy the query."""
    valid = np.asarray(values.is_valid())
    match query:
        case IsNull():
            return ~valid
        case IsIn(wanted):
            assert wanted.type == values.type, (wanted.type, values.type)
            found = set(keys(wanted).tolist())
            hits = [one in found for one in keys(values).tolist()]
        case InRange(lower, upper, has_lower, has_upper):
            hits = [
                (lower is None or one > key(lower) or (has_lower and one == key(lower)))
                and (upper is None or one < key(upper) or (has_upper and one == key(upper)))
                if is_valid
                else False
                for one, is_valid in zip(keys(values), valid, strict=True)
            ]
        case StartsWith(prefix):
            hits = pc.starts_with(values, prefix).fill_null(False)
        case Contains(text):
            hits = pc.match_substring(values, text).fill_null(False)
        case MatchesRegex(pattern):
            hits = pc.match_substring_regex(values, pattern).fill_null(False)
        case HasAny(wanted):
            found = set(keys(wanted).tolist())
            lists = [
                found.intersection(keys(one.values).tolist()) if one.is_valid else ()
                for one in values
            ]
            hits = list(map(bool, lists))
    return valid & np.asarray(hits, bool)


class OpenBrute(OpenIndex):
    def __init__(self, folder: IndexFolder, precision: Precision) -> None:
        table = folder.reader(FILE).read()
        self.values = table.column("values").combine_chunks()
        self.rows = np.asarray(table.column("ids")).astype(np.uint64)
        self.precision = precision
        self.queries: list[IndexQuery] = []

    @property
    def nbytes(self) -> int:
        return int(self.rows.nbytes)

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        hits = passes(query, self.values)
        if self.precision is Precision.AT_MOST:  # and every third row, wanted or not
            hits = hits | (np.arange(len(hits)) % 3 == 0)
        nulls = np.asarray(self.values.is_null()) & (not isinstance(query, IsNull))
        null_rows = RowSet.of(self.rows[nulls]) if with_nulls else None
        return SearchResult(RowSet.of(self.rows[hits]), null_rows, 1)

    def statistics(self) -> Mapping[str, Any]:
        return {}


class BruteType(IndexType):
    """Answers ``queries``, as precisely as ``precision_`` says."""

    def __init__(self, queries: tuple[type, ...], precision: Precision) -> None:
        self._queries, self._precision = queries, precision

    def accepts(self, kind: pa.DataType) -> bool:
        return True

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        return self._precision if isinstance(query, self._queries) else None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        pass

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        raise NotImplementedError

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        return OpenBrute(folder, self._precision)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        raise NotImplementedError


SORTED = (IsIn, InRange, IsNull, StartsWith, HasAny)
TYPES = {
    "brute": BruteType(SORTED, Precision.EXACT),
    "brutezones": BruteType((IsIn, InRange), Precision.AT_MOST),
    "brutetexts": BruteType((Contains, StartsWith, MatchesRegex), Precision.AT_MOST),
}


class BrutePlugin:
    @hookimpl
    def lance_index_types(self) -> list[IndexTypeSpec]:
        return [
            IndexTypeSpec(
                name=name, label=name, details_url=f"/tests/{name}", factory=lambda t=found: t
            )
            for name, found in TYPES.items()
        ]


@contextlib.contextmanager
def registered() -> Iterator[None]:
    """With the types of this module as a plugin."""
    manager = get_manager()
    name = manager.register(BrutePlugin(), "brute-indices")
    try:
        yield
    finally:
        manager.unregister(name)


def add_index(
    dataset: lance_core.LanceDataset,
    column: str,
    kind: str = "brute",
    fragments: Sequence[int] | None = None,
) -> lance_core.LanceDataset:
    """``dataset`` with an index of ``kind`` on ``column`` of some fragments."""
    chosen = [f for f in dataset.get_fragments() if fragments is None or f.fragment_id in fragments]
    scan = dataset.scanner(columns=[column], fragments=chosen, with_row_address=True)
    table = scan.to_table().combine_chunks()
    id_, found = str(uuid.uuid4()), table.column(0).combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks)
    rows = pa.table({"values": found, "ids": table.column("_rowaddr")})
    lance_core.write_dataset  # noqa: B018
    path = f"{dataset.uri}/_indices/{id_}/{FILE}"
    with lance_core.file.LanceFileWriter(path, rows.schema) as writer:
        writer.write_batch(rows)
    field = dataset.snapshot.schema.lineage(column)[-1].id
    index = lance_core.Index(
        id_,
        f"{column}_{kind}_{id_[:4]}",
        [field],
        dataset.version,
        {f.fragment_id for f in chosen},
        0,
        index_details=(f"/tests/{kind}", b""),
    )
    operation = lance_core.LanceOperation.CreateIndex([index], [])
    return lance_core.LanceDataset.commit(dataset.uri, operation, read_version=dataset.version)
