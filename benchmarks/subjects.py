"""The same operations of each subject: this library, pylance, Parquet and Vortex."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


class Subject(ABC):
    """One implementation, with a folder of its own."""

    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.name
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, workload: str) -> str:
        """The path of a workload's table."""
        return str(self.folder / workload)

    def remove(self, workload: str) -> None:
        """Remove the table of a workload."""
        shutil.rmtree(self.path(workload), ignore_errors=True)

    @abstractmethod
    def write(self, workload: str, table: pa.Table, **options: Any) -> None:
        """Write a new table."""

    @abstractmethod
    def open(self, workload: str) -> Any:
        """Open the table of a workload."""

    @abstractmethod
    def scan(self, opened: Any, columns: list[str] | None = None, where: str | None = None) -> Any:
        """Read rows as a table."""

    @abstractmethod
    def take(self, opened: Any, rows: np.ndarray) -> pa.Table:
        """Rows by position."""


class Lance(Subject):
    """A library that writes Lance tables of one file version."""

    module: Any

    def __init__(self, folder: Path, version: str = "2.0") -> None:
        super().__init__(folder)
        self.version = version

    def write(self, workload: str, table: pa.Table, **options: Any) -> None:
        path, version = self.path(workload), self.version
        self.module.write_dataset(table, path, data_storage_version=version, **options)

    def open(self, workload: str) -> Any:
        return self.open_path(self.path(workload))

    def open_path(self, path: str) -> Any:
        """Open a table, which another subject may have written."""
        return self.module.dataset(path)

    def scan(self, opened: Any, columns: list[str] | None = None, where: str | None = None) -> Any:
        return opened.to_table(columns=columns, filter=where)

    def take(self, opened: Any, rows: np.ndarray) -> pa.Table:
        return opened.take(rows.tolist())


class Ours(Lance):
    """This library."""

    name = "lance_core"

    def __init__(self, folder: Path, version: str = "2.0") -> None:
        super().__init__(folder, version)
        import lance_core

        self.module = lance_core


class Pylance(Lance):
    """pylance."""

    name = "pylance"

    def __init__(self, folder: Path, version: str = "2.0") -> None:
        super().__init__(folder, version)
        import lance

        self.module = lance


class Parquet(Subject):
    """Parquet files with Snappy, read through pyarrow."""

    name = "parquet"

    def write(self, workload: str, table: pa.Table, **options: Any) -> None:
        Path(self.path(workload)).mkdir(exist_ok=True)
        pq.write_table(table, Path(self.path(workload)) / "0.parquet")

    def open(self, workload: str) -> Any:
        return pq.ParquetFile(Path(self.path(workload)) / "0.parquet", memory_map=True)

    def scan(self, opened: Any, columns: list[str] | None = None, where: str | None = None) -> Any:
        table = opened.read(columns=columns)
        return table if where is None else table.filter(_expression(where))

    def take(self, opened: Any, rows: np.ndarray) -> pa.Table:
        return opened.read().take(pa.array(rows))


class Vortex(Subject):
    """Vortex files, mapped into memory, read as the Arrow types that were written.

    Without a schema Vortex returns views of strings, which take it as long. Mapping the file is at
    least as fast as the caches that it has otherwise.
    """

    name = "vortex"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        import vortex

        self._module = vortex
        self._schemas: dict[str, pa.Schema] = {}

    def write(self, workload: str, table: pa.Table, **options: Any) -> None:
        Path(self.path(workload)).mkdir(exist_ok=True)
        self._module.io.write(table, str(self._file(workload)))
        self._schemas[workload] = table.schema

    def open(self, workload: str) -> Any:
        file = self._module.open(str(self._file(workload)), memory_map=True)
        return file, self._schemas[workload]

    def scan(self, opened: Any, columns: list[str] | None = None, where: str | None = None) -> Any:
        file, schema = opened
        if columns is not None:
            schema = pa.schema([schema.field(name) for name in columns])
        condition = None if where is None else self._condition(where)
        return file.to_arrow(columns, expr=condition, schema=schema).read_all()

    def take(self, opened: Any, rows: np.ndarray) -> pa.Table:
        """Vortex takes rows in the order of the file; they are put into the wanted order after."""
        file, schema = opened
        order, places = np.unique(rows, return_inverse=True)
        wanted = self._module.array(pa.array(order))
        return file.to_arrow(indices=wanted, schema=schema).read_all().take(pa.array(places))

    def _file(self, workload: str) -> Path:
        return Path(self.path(workload)) / "0.vortex"

    def _condition(self, where: str) -> Any:
        """The two filters that the workloads use."""
        expressions = self._module.expr
        if where == "i32 < 1000":
            limit = self._module.scalar(1000, dtype=self._module.int_(32))
            return expressions.column("i32") < limit
        ids = expressions.column("id")
        return (ids - (ids / 1000) * 1000) == 7


def _expression(where: str) -> Any:
    """The two filters that the workloads use, as pyarrow expressions."""
    import pyarrow.compute as pc

    if where == "i32 < 1000":
        return pc.field("i32") < 1000
    ids = pc.field("id")
    return pc.equal(pc.subtract(ids, pc.multiply(pc.divide(ids, 1000), 1000)), 7)
