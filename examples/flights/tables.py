"""The tables of the pipeline: bronze as the CSVs have it, silver joined, gold aggregated."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

MOMENT = pa.timestamp("us", "UTC")

BRONZE = {
    "flights": pa.schema(
        [
            ("year", pa.int16()),
            ("month", pa.int8()),
            ("day", pa.int8()),
            ("dep_time", pa.int16()),
            ("sched_dep_time", pa.int16()),
            ("dep_delay", pa.int16()),
            ("arr_time", pa.int16()),
            ("sched_arr_time", pa.int16()),
            ("arr_delay", pa.int16()),
            ("carrier", pa.string()),
            ("flight", pa.int16()),
            ("tailnum", pa.string()),
            ("origin", pa.string()),
            ("dest", pa.string()),
            ("air_time", pa.int16()),
            ("distance", pa.int16()),
            ("hour", pa.int8()),
            ("minute", pa.int8()),
            ("time_hour", MOMENT),
        ]
    ),
    "weather": pa.schema(
        [
            ("origin", pa.string()),
            ("year", pa.int16()),
            ("month", pa.int8()),
            ("day", pa.int8()),
            ("hour", pa.int8()),
            *((name, pa.float64()) for name in ("temp", "dewp", "humid", "wind_dir")),
            *((name, pa.float64()) for name in ("wind_speed", "wind_gust", "precip")),
            *((name, pa.float64()) for name in ("pressure", "visib")),
            ("time_hour", MOMENT),
        ]
    ),
    "airports": pa.schema(
        [
            ("faa", pa.string()),
            ("name", pa.string()),
            ("lat", pa.float64()),
            ("lon", pa.float64()),
            ("alt", pa.int16()),
            ("tz", pa.float64()),
            ("dst", pa.string()),
            ("tzone", pa.string()),
        ]
    ),
    "planes": pa.schema(
        [
            ("tailnum", pa.string()),
            ("year", pa.int16()),
            ("type", pa.string()),
            ("manufacturer", pa.string()),
            ("model", pa.string()),
            ("engines", pa.int8()),
            ("seats", pa.int16()),
            ("speed", pa.int16()),
            ("engine", pa.string()),
        ]
    ),
    "airlines": pa.schema([("carrier", pa.string()), ("name", pa.string())]),
}
"""The columns of the CSVs and the smallest types that hold them. Times of day are written 517 for
5:17; distances are in miles, delays and times in the air in minutes."""

KNOWN_LATER = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "tailnum")
"""What a schedule of flights lacks until they have flown."""

SILVER = pa.schema(
    [
        ("scheduled", MOMENT),
        ("carrier", pa.string()),
        ("flight", pa.int16()),
        ("tailnum", pa.string()),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("distance", pa.int16()),
        ("dep_delay", pa.int16()),
        ("arr_delay", pa.int16()),
        ("air_time", pa.int16()),
        ("cancelled", pa.bool_()),
        ("month", pa.int8()),
        ("hour", pa.int8()),
        ("airline", pa.string()),
        ("destination", pa.string()),
        ("seats", pa.int16()),
        ("temp", pa.float64()),
        ("visib", pa.float64()),
        ("wet", pa.bool_()),
    ]
)
"""A row for each flight: its moment in place of the parts, the names of airline and destination,
the seats of the plane, and the weather of the hour. ``hour``: the scheduled one in New York."""

KEY = ["scheduled", "carrier", "flight"]
"""The columns that identify a flight."""

GOLD = {
    "hours": ["hour", "wet"],
    "airlines": ["airline"],
    "destinations": ["dest", "destination"],
}
"""The groups of each table; for each group it has the columns `MEASURES`."""

MEASURES = ("flights", "cancelled", "dep_delay", "arr_delay")
"""Two counts, two means in minutes."""


@dataclass(frozen=True, slots=True)
class Lake:
    """Where all tables are: a folder, or a prefix of a bucket."""

    root: str

    def uri(self, layer: str, table: str) -> str:
        return f"{self.root}/{layer}/{table}.lance"

    @property
    def flights(self) -> str:
        """The log of all rows about flights that ever arrived."""
        return self.uri("bronze", "flights")

    @property
    def silver(self) -> str:
        return self.uri("silver", "flights")
