"""The report at the end."""

from __future__ import annotations

from pathlib import Path

import lance_core as lance
from examples.flights.pipeline import Results
from examples.flights.source import Source
from examples.flights.tables import BRONZE, GOLD, Lake

MEGABYTE = 1_000_000
SHOWN = 3
LEAST_FLIGHTS = 100


def report(lake: Lake, source: Source, results: Results, chart: Path) -> str:
    """What was done and found, for people."""
    csv = f"{source.size / MEGABYTE:.1f} MB of CSV"
    lines = ["", f"{results.rows:,} flights, {csv} -> {lake.root}", ""]
    tables = [("bronze", table) for table in BRONZE] + [("silver", "flights")]
    for layer, table in tables + [("gold", table) for table in GOLD]:
        lines.append(_table(lake, layer, table))
    before, after = results.fragments
    lines += ["", f"silver compacted: {before} fragments -> {after}"]
    lines += [f"bronze flights, version 1: {results.rows_of_first_version:,} rows"]
    row = results.taken.slice(0, 1).to_pylist()[0]
    flight = f"{row['airline']} {row['flight']} from {row['origin']} to {row['destination']}"
    lines += [f"{results.taken.num_rows:,} rows taken at random, the first of them:"]
    lines += [f"  {flight}, {row['scheduled']:%Y-%m-%d %H:%M} UTC", ""]
    lines += ["worst delays on arrival"]
    for table, name in (("airlines", "airline"), ("destinations", "destination")):
        gold = lance.dataset(lake.uri("gold", table))
        rows = gold.to_table(filter=f"{name} IS NOT NULL AND flights > {LEAST_FLIGHTS}")
        worst = rows.sort_by([("arr_delay", "descending")]).slice(0, SHOWN).to_pylist()
        lines += [
            f"  {row['arr_delay']:5.1f} min  {row['flights']:>7,} flights  {row[name]}"
            for row in worst
        ]
    return "\n".join([*lines, "", f"delays by hour: {chart}"])


def timings(seconds: dict[str, float], total: float) -> str:
    """The seconds of each step."""
    lines = ["", "timings", *(f"  {took:6.1f} s  {step}" for step, took in seconds.items())]
    return "\n".join([*lines, f"  {total:6.1f} s  all", ""])


def _table(lake: Lake, layer: str, table: str) -> str:
    dataset = lance.dataset(lake.uri(layer, table))
    size = int(dataset.versions()[-1]["metadata"]["total_files_size"]) / MEGABYTE
    columns = f"{len(dataset.schema.names):>2} columns"
    cells = f"{layer:6}  {table:12}  {dataset.count_rows():>8,} rows  {columns}  {size:5.1f} MB"
    return f"  {cells}  version {dataset.version}"
