"""BTREE indices beside pylance: the same files, and the same answers in both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader
from lance.indices import IndexConfig

import lance_core
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of, open_index, spec_of
from lance_core.index.base import OpenIndex
from lance_core.index.queries import InRange, IsIn, IsNull
from lance_core.index.sort_order import sort_keys
from tests.unit.index.ordered_arrays import ordered_arrays

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

_ROWS, _FILE_ROWS, _ZONE_SIZE = 150, 40, 16


def _columns() -> dict[str, tuple[pa.Array, np.ndarray[Any, Any]]]:
    """Ordered values by name, and which of them each row has; -1 is null."""
    random = np.random.default_rng(11)
    arrays = [*ordered_arrays(), pa.nulls(1)]
    return {
        f"c{number}": (ordered, random.integers(-1, len(ordered), _ROWS))
        for number, ordered in enumerate(arrays)
    }


COLUMNS = _columns()


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "stable"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A table indexed by us, and the same one indexed by pylance."""
    folder = tmp_path_factory.mktemp("btrees")
    arrays = {
        name: ordered.take(pa.array(places, mask=places < 0))
        for name, (ordered, places) in COLUMNS.items()
    }
    paths = [str(folder / "ours"), str(folder / "theirs")]
    for path in paths:
        lance.write_dataset(
            pa.table(arrays),
            path,
            max_rows_per_file=_FILE_ROWS,
            enable_stable_row_ids=request.param,
        )
    for name in arrays:
        lance_core.dataset(paths[0]).create_scalar_index(name, "BTREE", zone_size=_ZONE_SIZE)
        config = IndexConfig("btree", {"zone_size": _ZONE_SIZE})
        lance.dataset(paths[1]).create_scalar_index(name, config)
    return paths


def _opened(path: str) -> dict[str, OpenIndex]:
    snapshot = lance_core.dataset(path)._snapshot
    found = {}
    for index in indices_of(snapshot):
        spec = spec_of(index)
        assert spec is not None
        found[index.name.removesuffix("_idx")] = open_index(snapshot, index, spec)
    return found


def _literal(value: pa.Scalar) -> str | None:
    """``value`` in SQL, for types that have such literals."""
    if pa.types.is_string(value.type) or pa.types.is_large_string(value.type):
        return f"'{value}'"
    if pa.types.is_date32(value.type):
        return f"date '{value}'"
    is_number = pa.types.is_integer(value.type) or value.type in (pa.float32(), pa.float64())
    return str(value) if is_number else None


def test_the_files_are_those_of_pylance(both: list[str]) -> None:
    contents = []
    for path in both:
        tables = {}
        for index in lance.dataset(path).describe_indices():
            folder = Path(path, "_indices", str(index.segments[0].uuid))
            for name in ("page_data.lance", "page_lookup.lance"):
                reader = LanceFileReader(str(folder / name))
                table = reader.read_all().to_table()
                tables[index.name, name] = table, reader.metadata().schema
        contents.append(tables)
    ours, theirs = contents
    assert ours.keys() == theirs.keys()
    for (column, name), (table, schema) in ours.items():
        other, other_schema = theirs[column, name]
        assert schema.equals(other_schema, check_metadata=True), (column, name)
        if pa.types.is_null(schema.field(0).type):
            continue  # pylance counts no nulls
        for field in set(table.column_names) - {"ids"}:
            keys, other_keys = (
                sort_keys(pa.concat_arrays(one.column(field).chunks)) for one in (table, other)
            )
            assert keys.equals(other_keys), (column, name, field)
        if "ids" in table.column_names:
            ids, other_ids = (set(one.column("ids").to_pylist()) for one in (table, other))
            assert ids == other_ids


def test_both_indices_give_the_rows_of_a_scan(both: list[str]) -> None:
    numbers = np.arange(_ROWS, dtype=np.uint64)
    addresses = (numbers // np.uint64(_FILE_ROWS) << np.uint64(32)) | numbers % np.uint64(
        _FILE_ROWS
    )
    for path in both:
        for name, index in _opened(path).items():
            ordered, places = COLUMNS[name]
            if pa.types.is_null(ordered.type):
                assert index.search(IsNull()).rows.numbers().tolist() == addresses.tolist()
                continue
            if pa.types.is_dictionary(ordered.type):
                ordered = ordered.dictionary_decode()
            for place in range(len(ordered)):
                value = ordered.slice(place, 1)
                for query, mask in (
                    (IsIn(value), places == place),
                    (InRange(value[0], includes_lower=False), places > place),
                    (InRange(None, value[0]), (places >= 0) & (places <= place)),
                ):
                    found = index.search(query, with_nulls=True)
                    assert found.rows.numbers().tolist() == addresses[mask].tolist(), name
                    assert found.nulls is not None
                    assert found.nulls.numbers().tolist() == addresses[places < 0].tolist(), name


def test_pylance_finds_the_rows_of_a_scan_by_our_indices(both: list[str]) -> None:
    dataset, compared = lance.dataset(both[0]), 0
    for name, (ordered, _) in COLUMNS.items():
        if pa.types.is_null(ordered.type):
            continue  # pylance finds no nulls by its own index either
        filters = [f"{name} IS NULL", f"{name} IS NOT NULL"]
        literal = _literal(ordered[len(ordered) // 2])
        if literal is not None:
            filters += [f"{name} {sign} {literal}" for sign in ("=", "!=", "<", ">=")]
        for condition in filters:
            wanted = dataset.to_table(
                columns=["c0"], filter=condition, with_row_id=True, use_scalar_index=False
            )
            found = dataset.to_table(columns=["c0"], filter=condition, with_row_id=True)
            assert found.sort_by("_rowid").equals(wanted.sort_by("_rowid")), condition
            compared += 1
    assert compared > 90
    ours, theirs = (
        {
            index.name: lance.dataset(path).stats.index_stats(index.name)["indices"]
            for index in lance.dataset(path).describe_indices()
        }
        for path in both
    )
    assert ours == theirs


def test_our_statistics_are_those_of_pylance(both: list[str]) -> None:
    for name, index in _opened(both[1]).items():
        if pa.types.is_decimal(COLUMNS[name][0].type):
            continue  # pylance shows Rust's form
        (wanted,) = lance.dataset(both[1]).stats.index_stats(f"{name}_idx")["indices"]
        assert dict(index.statistics()) == wanted, COLUMNS[name][0].type


def test_pylance_extends_our_indices_and_we_extend_its(both: list[str], tmp_path: Path) -> None:
    columns = ["c0", "c20", "c24"]
    table = lance.dataset(both[0]).to_table(columns=columns)
    for library, other in ((lance, lance_core), (lance_core, lance)):
        path = str(tmp_path / library.__name__)
        lance.write_dataset(table, path, max_rows_per_file=_FILE_ROWS)
        for name in columns:
            library.dataset(path).create_scalar_index(name, "BTREE")
        lance.write_dataset(table, path, mode="append")
        lance.dataset(path).delete("c0 = 1")
        other.dataset(path).optimize.optimize_indices()
        other.dataset(path).optimize.compact_files()
        for condition in ("c0 = 0", "c0 > 0", "c0 IS NULL", "c20 >= 'a'"):
            results = [
                reader.dataset(path).to_table(filter=condition, use_scalar_index=used).num_rows
                for reader in (lance, lance_core)
                for used in (True, False)
            ]
            assert len(set(results)) == 1, (path, condition, results)
            assert results[0] > 0
