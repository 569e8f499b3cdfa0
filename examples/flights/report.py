"""The report at the end."""

from __future__ import annotations

from pathlib import Path

import lance_core as lance
from examples.flights.pipeline import LONG_FLIGHT, Results
from examples.flights.source import Source

MEGABYTE = 1_000_000
SHOWN = 5


def report(
    source: Source, table: Path, results: Results, seconds: dict[str, float], total: float
) -> str:
    """What was done and found, for people."""
    dataset = lance.dataset(table)
    stored = sum(file.stat().st_size for file in table.rglob("*") if file.is_file())
    writing = sum(took for step, took in seconds.items() if step.startswith(("write", "append")))
    size = f"{len(dataset.schema.names)} columns, {len(dataset.get_fragments())} fragments"
    speed = f"{source.size / MEGABYTE / writing:.1f} MB of CSV, {results.rows / writing:,.0f} rows"
    lines = ["", f"{results.rows:,} flights, {size}"]
    lines.append(f"CSV {source.size / MEGABYTE:.1f} MB -> table {stored / MEGABYTE:.1f} MB")
    lines += [f"written at {speed} a second", "", "versions"]
    lines += [
        f"  {v['version']}  {v['timestamp']:%H:%M:%S}  {int(v['metadata']['total_rows']):>9,} rows"
        f"  {int(v['metadata']['total_files_size']) / MEGABYTE:6.1f} MB"
        for v in dataset.versions()
    ]
    lines += ["", f"worst delays on arrival, flights of more than {LONG_FLIGHT} miles"]
    lines += [
        f"  {carrier}  {mean:6.1f} min  {count:>7,} flights"
        for carrier, count, mean in results.delays[:SHOWN]
    ]
    row = results.taken.slice(0, 1).to_pylist()[0]
    flight = f"{row['carrier']} {row['flight']} {row['origin']}-{row['dest']}"
    lines += ["", f"{results.taken.num_rows:,} rows taken at random, the first of them:"]
    lines.append(f"  {flight} {row['scheduled']:%Y-%m-%d %H:%M} UTC")
    lines += [f"version 1 still has {results.rows_of_first_version:,} rows", "", "timings"]
    lines += [f"  {took:6.1f} s  {step}" for step, took in seconds.items()]
    lines += [f"  {total:6.1f} s  all", ""]
    return "\n".join(lines)
