"""The pipeline with pyarrow and lance_core alone."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

import lance_core as lance
from examples.flights.pipeline import Engine
from examples.flights.source import Source
from examples.flights.tables import BRONZE, GOLD, KEY, MEASURES, SILVER, Lake


def join(flights: pa.Table, others: Mapping[str, pa.Table]) -> pa.Table:
    """The rows of silver for ``flights``, from the other tables of bronze."""
    seconds = pc.multiply(flights["minute"].cast(pa.int64()), 60).cast(pa.duration("s"))
    flights = flights.append_column("scheduled", pc.add(flights["time_hour"], seconds))
    flights = flights.append_column("cancelled", pc.is_null(flights["dep_time"]))
    weather = others["weather"].select(["origin", "time_hour", "temp", "visib", "precip"])
    weather = weather.append_column("wet", pc.greater(weather["precip"], 0))
    airports = others["airports"].select(["faa", "name"]).rename_columns(["dest", "destination"])
    airlines = others["airlines"].rename_columns(["carrier", "airline"])
    planes = others["planes"].select(["tailnum", "seats"])
    joined = flights.join(weather, ["origin", "time_hour"]).join(airports, "dest")
    joined = joined.join(airlines, "carrier").join(planes, "tailnum")
    return joined.select(SILVER.names).cast(SILVER).sort_by([(name, "ascending") for name in KEY])


def aggregate(silver: pa.Table, groups: list[str]) -> pa.Table:
    """A table of gold."""
    means = [("dep_delay", "mean"), ("arr_delay", "mean")]
    found = silver.group_by(groups).aggregate([([], "count_all"), ("cancelled", "sum"), *means])
    names = ["count_all", "cancelled_sum", "dep_delay_mean", "arr_delay_mean"]
    found = found.select([*groups, *names]).rename_columns([*groups, *MEASURES])
    types = dict.fromkeys(MEASURES, pa.float64()) | dict.fromkeys(MEASURES[:2], pa.int64())
    return found.cast(pa.schema([(f.name, types.get(f.name, f.type)) for f in found.schema]))


class PlainEngine(Engine):
    """Reads each CSV at once; they are small."""

    def __init__(self, source: Source, lake: Lake) -> None:
        self._source = source
        self._lake = lake

    def write_bronze(self) -> None:
        lance.write_dataset(self._source.read("flights", self._source.history), self._lake.flights)
        for table in BRONZE:
            if table != "flights":
                lance.write_dataset(self._source.read(table), self._lake.uri("bronze", table))

    def write_silver(self) -> None:
        lance.write_dataset(self._joined(self._bronze("flights")), self._lake.silver)

    def take_in_arrivals(self) -> None:
        for file in sorted(self._source.arriving.iterdir()):
            flights = self._source.read("flights", file)
            lance.write_dataset(flights, self._lake.flights, mode="append")
            upsert(self._joined(flights), self._lake.silver)

    def compact(self) -> None:
        lance.dataset(self._lake.silver).optimize.compact_files()

    def write_gold(self, table: str) -> None:
        lance.write_dataset(self._aggregated(table), self._lake.uri("gold", table))

    def merge_gold(self, table: str) -> None:
        """Nulls match nothing, so a group with one is deleted and inserted."""
        merge = lance.dataset(self._lake.uri("gold", table)).merge_insert(GOLD[table])
        merge = merge.when_matched_update_all().when_not_matched_insert_all()
        merge.when_not_matched_by_source_delete().execute(self._aggregated(table))

    def count(self, uri: str, version: int | None = None) -> int:
        return lance.dataset(uri, version).count_rows()

    def close(self) -> None:
        pass

    def _aggregated(self, table: str) -> pa.Table:
        """The present rows of a table of gold."""
        silver = lance.dataset(self._lake.silver).to_table([*GOLD[table], *MEASURES[1:]])
        return aggregate(silver, GOLD[table])

    def _joined(self, flights: pa.Table) -> pa.Table:
        return join(flights, {table: self._bronze(table) for table in BRONZE if table != "flights"})

    def _bronze(self, table: str) -> pa.Table:
        return lance.dataset(self._lake.uri("bronze", table)).to_table()


def upsert(rows: pa.Table, uri: str) -> None:
    """Update the flights that the table has, and insert the others."""
    merge = lance.dataset(uri).merge_insert(KEY)
    merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)
