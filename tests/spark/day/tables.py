"""Tables of a pipeline, each beside Parquet files that Spark writes anew after each change."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from lance_core_spark import LanceTable, create_table

Digest = tuple[object, ...]


def digest(frame: DataFrame) -> Digest:
    """The number of rows, and sums of their hashes, whatever their order is."""
    columns = ", ".join(sorted(frame.columns))
    hashes = frame.selectExpr(f"xxhash64({columns}) AS h")
    return tuple(hashes.selectExpr("count(*)", "sum(CAST(h AS decimal(38)))", "bit_xor(h)").first())


@dataclass
class Tables:
    """The tables of a folder by their names, and the newest Parquet files of each."""

    spark: SparkSession
    folder: Path
    _numbers: dict[str, int] = field(default_factory=dict)

    def uri(self, name: str) -> str:
        return str(self.folder / f"{name}.lance")

    def table(self, name: str) -> LanceTable:
        return LanceTable.forPath(self.spark, self.uri(name))

    def parquet(self, name: str) -> DataFrame:
        """The rows that the table should have."""
        return self.spark.read.parquet(self._path(name))

    def create(self, name: str, rows: DataFrame) -> None:
        """Write ``rows`` both ways."""
        create_table(rows, self.uri(name), enable_stable_row_ids=True)
        self._numbers[name] = 0
        rows.write.parquet(self._path(name))

    def replace(self, name: str, rows: DataFrame) -> None:
        """Write the Parquet files of a table anew."""
        old = self._path(name)
        self._numbers[name] += 1
        rows.write.parquet(self._path(name))
        shutil.rmtree(old)

    def append(self, name: str, rows: DataFrame) -> None:
        """Append ``rows`` both ways."""
        rows.write.format("lance").mode("append").save(self.uri(name))
        rows.write.mode("append").parquet(self._path(name))

    def differences(self) -> list[str]:
        """The tables whose rows are not those of their Parquet files."""
        pairs = {
            name: (digest(self.table(name).toDF()), digest(self.parquet(name)))
            for name in self._numbers
        }
        return [
            f"{name}: {ours} instead of {theirs}"
            for name, (ours, theirs) in pairs.items()
            if ours != theirs
        ]

    def _path(self, name: str) -> str:
        return str(self.folder / f"{name}-{self._numbers[name]}.parquet")
