"""``format("faulty-lance")``: the data source, with processes that are killed at one point.

Options: ``fault_point`` is one of `POINTS`; ``fault_marker`` a file that is made when the fault
strikes, so that it strikes once; ``fault_victim`` is ``worker`` (the Python process at the point)
or ``java`` (the executor or driver above it, as well).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition, WriterCommitMessage
from pyspark.sql.types import StructType

from lance_core.commits import loop
from lance_core_spark.scan.reader import LanceReader
from lance_core_spark.stream.sink import LanceStreamWriter, WrittenBatch
from lance_core_spark.stream.source import LanceStreamReader
from lance_core_spark.write.writer import LanceWriter, WrittenFragments
from pyspark_lance import DefaultSource

SOURCE_POINTS = ("offsets", "partitions", "rows")
SINK_POINTS = ("plan", "files", "commit", "publish", "published", "committed")
POINTS = (*SOURCE_POINTS, *SINK_POINTS)
"""In the order in which a micro-batch reaches them.

``files``: a task has written its files. ``publish`` and ``published``: before and after the
manifest of the new version is written. ``committed``: Spark does not know of the commit yet.
"""


@dataclass(frozen=True)
class Fault:
    """A fault at one point, which strikes once."""

    point: str
    marker: str
    victim: str

    def strike(self, point: str) -> None:
        """Kill the victim if this is the point and the fault has not struck yet."""
        if point != self.point:
            return
        try:
            Path(self.marker).touch(exist_ok=False)
        except FileExistsError:
            return
        if self.victim == "java":
            os.kill(java_above(os.getpid()), signal.SIGKILL)
            time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)

    def strike_while_publishing(self) -> None:
        """Strike before or after the next manifest that this process writes."""
        publish = loop.publish

        def faulty(*args: Any) -> Any:
            self.strike("publish")
            made = publish(*args)
            self.strike("published")
            return made

        loop.publish = faulty


def java_above(pid: int) -> int:
    """The process of Java that is the nearest ancestor."""
    while True:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition(") ")
        if name.endswith("(java"):
            return pid
        pid = int(rest.split()[1])


class FaultySource(DefaultSource):
    """The data source with a fault."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        names = "fault_point", "fault_marker", "fault_victim"
        self._fault = Fault(*(given.pop(name, "") for name in names))
        super().__init__(given)

    @classmethod
    def name(cls) -> str:
        return "faulty-lance"

    def reader(self, schema: StructType) -> FaultyReader:
        reader = super().reader(schema)
        assert isinstance(reader, LanceReader)
        return FaultyReader(reader, self._fault)

    def writer(self, schema: StructType, overwrite: bool) -> FaultyWriter:
        writer = super().writer(schema, overwrite)
        assert isinstance(writer, LanceWriter)
        return FaultyWriter(writer, self._fault)

    def streamReader(self, schema: StructType) -> FaultyStreamReader:  # noqa: N802
        return FaultyStreamReader(self, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> FaultyStreamWriter:  # noqa: N802
        return FaultyStreamWriter(self, schema, overwrite)


class FaultyReader(LanceReader):
    def __init__(self, reader: LanceReader, fault: Fault) -> None:
        self.__dict__ |= reader.__dict__
        self.fault = fault

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in super().read(partition):
            yield batch
            self.fault.strike("rows")


class FaultyWriter(LanceWriter):
    def __init__(self, writer: LanceWriter, fault: Fault) -> None:
        self.__dict__ |= writer.__dict__
        self.fault = fault

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFragments:
        written = super().write(iterator)
        self.fault.strike("files")
        return written

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        self.fault.strike("commit")
        self.fault.strike_while_publishing()
        super().commit(messages)
        self.fault.strike("committed")


class FaultyStreamReader(LanceStreamReader):
    def __init__(self, source: FaultySource, schema: StructType) -> None:
        super().__init__(source._source.options, schema)
        self.fault = source._fault

    def latestOffset(self, *args: Any) -> dict[str, Any]:  # noqa: N802
        offset = super().latestOffset(*args)
        self.fault.strike("offsets")
        return offset

    def partitions(self, *args: Any) -> list[InputPartition]:
        planned = super().partitions(*args)
        self.fault.strike("partitions")
        return planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in super().read(partition):
            yield batch
            self.fault.strike("rows")


class FaultyStreamWriter(LanceStreamWriter):
    def __init__(self, source: FaultySource, schema: StructType, overwrite: bool) -> None:
        super().__init__(source._source.options, schema, overwrite)
        self.fault = source._fault
        self.fault.strike("plan")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenBatch:
        written = super().write(iterator)
        self.fault.strike("files")
        return written

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        self.fault.strike("commit")
        self.fault.strike_while_publishing()
        super().commit(messages, batchId)
        self.fault.strike("committed")
