"""The pipeline with pyarrow and lance_core alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import lance_core as lance
from examples.flights.pipeline import LONG_FLIGHT, Delay, Engine
from examples.flights.source import CLEAN, LAST_MONTH_OF_FIRST_BATCH, Source


def clean(raw: pa.Table) -> pa.Table:
    """The columns of the table: a timestamp in place of its parts, missing values as nulls."""
    seconds = pc.multiply(raw["minute"].cast(pa.int64()), 60).cast(pa.duration("s"))
    raw = raw.append_column("scheduled", pc.add(raw["time_hour"], seconds))
    raw = raw.append_column("cancelled", pc.is_null(raw["dep_time"]))
    return raw.select(CLEAN.names).cast(CLEAN)


class PlainEngine(Engine):
    """Reads the CSV at once; it is small."""

    def __init__(self, source: Source, table: Path) -> None:
        self._table = table
        self._flights = clean(source.read())

    def write_first(self) -> None:
        early = pc.field("month") <= LAST_MONTH_OF_FIRST_BATCH
        lance.write_dataset(self._flights.filter(early), self._table)

    def append_rest(self) -> None:
        late = pc.field("month") > LAST_MONTH_OF_FIRST_BATCH
        lance.write_dataset(self._flights.filter(late), self._table, mode="append")

    def worst_delays(self) -> list[Delay]:
        flights = lance.dataset(self._table).to_table(
            ["carrier", "arr_delay"], filter=f"distance > {LONG_FLIGHT} AND arr_delay IS NOT NULL"
        )
        found = flights.group_by("carrier").aggregate(
            [("arr_delay", "count"), ("arr_delay", "mean")]
        )
        ordered = found.sort_by([("arr_delay_mean", "descending")])
        return [tuple(row.values()) for row in ordered.to_pylist()]

    def take(self, indices: list[int]) -> pa.Table:
        return lance.dataset(self._table).take(indices)

    def count(self, version: int | None = None) -> int:
        return lance.dataset(self._table, version).count_rows()

    def close(self) -> None:
        pass
