"""The results computed again, from the CSVs and by pyarrow alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

import lance_core as lance
from examples.flights.pipeline import TAKEN, Results
from examples.flights.plain import aggregate, join
from examples.flights.source import LAST_MONTH_OF_HISTORY, Source
from examples.flights.tables import BRONZE, GOLD, KEY, SILVER, Lake


def differences(source: Source, lake: Lake, results: Results) -> list[str]:
    """What is wrong, in words; nothing if all is right."""
    return list(_differences(source, lake, results))


def _differences(source: Source, lake: Lake, results: Results) -> Iterator[str]:
    raw = {table: source.read(table) for table in BRONZE}
    flights = raw.pop("flights")
    for table, rows in raw.items():
        yield from _rows(f"bronze {table}", _stored(lake, "bronze", table), rows)
    yield from _other("rows", results.rows, flights.num_rows)
    history = pc.sum(pc.less_equal(flights["month"], LAST_MONTH_OF_HISTORY)).as_py()
    yield from _other("rows of the history", results.rows_of_first_version, history)
    planned = pc.sum(pc.equal(flights["month"], LAST_MONTH_OF_HISTORY)).as_py()
    logged = lance.dataset(lake.flights).count_rows()
    yield from _other("rows of the log", logged, flights.num_rows + planned)
    silver = _stored(lake, "silver", "flights")
    expected = join(flights, raw)
    yield from _silver(silver, flights)
    yield from _rows("silver", silver, expected)
    yield from _other("fragments", results.fragments[1], 1)
    keys = results.taken.select(KEY)
    yield from _other("rows taken", keys.num_rows, TAKEN)
    yield from _rows("rows taken", results.taken, expected.join(keys, KEY, join_type="left semi"))
    for table, groups in GOLD.items():
        yield from _gold(table, _stored(lake, "gold", table), aggregate(expected, groups))


def _silver(silver: pa.Table, flights: pa.Table) -> Iterator[str]:
    """Sums and counts of what silver has from the CSV, which no join may change."""
    for name in ("dep_delay", "arr_delay", "air_time", "distance"):
        sums = pc.sum(silver[name]).as_py(), pc.sum(flights[name]).as_py()
        yield from _other(f"sum of {name}", *sums)
        yield from _other(f"nulls in {name}", silver[name].null_count, flights[name].null_count)
    cancelled = pc.sum(silver["cancelled"]).as_py()
    yield from _other("cancelled flights", cancelled, flights["dep_time"].null_count)
    hours = pc.strftime(pc.floor_temporal(silver["scheduled"], unit="hour"), "%Y-%m-%d %H")
    wanted = pc.strftime(flights["time_hour"], "%Y-%m-%d %H")
    yield from _other("flights by hour", _counts(hours), _counts(wanted))
    minutes = pc.minute(silver["scheduled"])
    yield from _other("flights by minute", _counts(minutes), _counts(flights["minute"]))


def _gold(table: str, found: pa.Table, wanted: pa.Table) -> Iterator[str]:
    """Means are sums in any order, so their last digits may differ."""
    yield from _other(f"columns of gold {table}", found.schema.names, wanted.schema.names)
    order = [(name, "ascending") for name in GOLD[table]]
    pairs = zip(found.sort_by(order).to_pylist(), wanted.sort_by(order).to_pylist(), strict=False)
    yield from _other(f"rows of gold {table}", found.num_rows, wanted.num_rows)
    for left, right in pairs:
        if not all(_is_close(left[name], right[name]) for name in right):
            yield f"gold {table}: {left}, not {right}"


def _is_close(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


def _rows(what: str, found: pa.Table, wanted: pa.Table) -> Iterator[str]:
    """All rows and types, in any order. Spark knows that some columns have no nulls."""
    names = KEY if wanted.schema.equals(SILVER) else wanted.schema.names
    order = [(name, "ascending") for name in names]
    yield from _other(f"columns of {what}", _types(found), _types(wanted))
    if found.select(wanted.schema.names).cast(wanted.schema).sort_by(order) != wanted.sort_by(
        order
    ):
        yield f"rows of {what} differ"


def _types(table: pa.Table) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in table.schema]


def _stored(lake: Lake, layer: str, table: str) -> pa.Table:
    return lance.dataset(lake.uri(layer, table)).to_table().replace_schema_metadata()


def _counts(values: pa.ChunkedArray) -> dict[object, int]:
    return {pair["values"]: pair["counts"] for pair in pc.value_counts(values).to_pylist()}


def _other(what: str, found: object, wanted: object) -> Iterator[str]:
    if found != wanted:
        yield f"{what}: {str(found)[:200]}, not {str(wanted)[:200]}"
