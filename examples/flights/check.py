"""The results computed again, from the CSV and by pyarrow alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import lance_core as lance
from examples.flights.pipeline import LONG_FLIGHT, TAKEN, Results
from examples.flights.source import LAST_MONTH_OF_FIRST_BATCH, Source

KEYS = ["carrier", "flight", "origin", "dest", "distance", "month"]


def differences(source: Source, table: Path | str, results: Results) -> list[str]:
    """What is wrong, in words; nothing if all is right."""
    return list(_differences(source.read(), table, results))


def _differences(raw: pa.Table, table: Path | str, results: Results) -> Iterator[str]:
    yield from _other("rows", results.rows, raw.num_rows)
    early = pc.sum(pc.less_equal(raw["month"], LAST_MONTH_OF_FIRST_BATCH)).as_py()
    yield from _other("rows of version 1", results.rows_of_first_version, early)
    yield from _delays(raw, results)
    yield from _taken(raw, results.taken)
    stored = lance.dataset(table).to_table()
    for name in ("dep_delay", "arr_delay", "air_time", "distance"):
        sums = pc.sum(stored[name]).as_py(), pc.sum(raw[name]).as_py()
        yield from _other(f"sum of {name}", *sums)
        yield from _other(f"nulls in {name}", stored[name].null_count, raw[name].null_count)
    cancelled = pc.sum(stored["cancelled"]).as_py()
    yield from _other("cancelled flights", cancelled, raw["dep_time"].null_count)
    yield from _other("tail numbers", _distinct(stored, "tailnum"), _distinct(raw, "tailnum"))
    hours = pc.strftime(pc.floor_temporal(stored["scheduled"], unit="hour"), "%Y-%m-%d %H")
    wanted = pc.strftime(raw["time_hour"], "%Y-%m-%d %H")
    yield from _other("flights by hour", _counts(hours), _counts(wanted))
    minutes = pc.minute(stored["scheduled"])
    yield from _other("flights by minute", _counts(minutes), _counts(raw["minute"]))


def _delays(raw: pa.Table, results: Results) -> Iterator[str]:
    long = raw.filter((pc.field("distance") > LONG_FLIGHT) & pc.field("arr_delay").is_valid())
    wanted = long.group_by("carrier").aggregate([("arr_delay", "count"), ("arr_delay", "mean")])
    means = {row["carrier"]: row for row in wanted.to_pylist()}
    yield from _other("carriers", sorted(d[0] for d in results.delays), sorted(means))
    for carrier, count, mean in results.delays:
        row = means.get(carrier)
        same = row and row["arr_delay_count"] == count
        if not (same and math.isclose(row["arr_delay_mean"], mean, rel_tol=1e-9)):
            yield f"delay of {carrier}: {count} flights, {mean}, not {row}"
    ordered = [mean for _, _, mean in results.delays]
    yield from _other("order of delays", ordered, sorted(ordered, reverse=True))


def _taken(raw: pa.Table, taken: pa.Table) -> Iterator[str]:
    """Each row that was taken is a row of the CSV."""
    yield from _other("rows taken", taken.num_rows, TAKEN)
    moment = pc.strftime(pc.floor_temporal(taken["scheduled"], unit="hour"), "%Y-%m-%d %H")
    left = taken.select(KEYS).append_column("hour", moment)
    right = raw.select(KEYS).append_column("hour", pc.strftime(raw["time_hour"], "%Y-%m-%d %H"))
    found = left.join(right, keys=[*KEYS, "hour"], join_type="left semi")
    yield from _other("rows taken that are in the CSV", found.num_rows, TAKEN)


def _distinct(table: pa.Table, name: str) -> int:
    return len(pc.unique(table[name]))


def _counts(values: pa.ChunkedArray) -> dict[object, int]:
    return {pair["values"]: pair["counts"] for pair in pc.value_counts(values).to_pylist()}


def _other(what: str, found: object, wanted: object) -> Iterator[str]:
    if found != wanted:
        yield f"{what}: {str(found)[:200]}, not {str(wanted)[:200]}"
