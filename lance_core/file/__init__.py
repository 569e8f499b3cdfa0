"""Read and write single data files outside of a table.

The names and arguments are those of ``lance.file`` in pylance.
"""

from lance_core.datafile.description import (
    LanceBufferDescriptor,
    LanceColumnMetadata,
    LanceColumnStatistics,
    LanceFileMetadata,
    LanceFileStatistics,
    LancePageMetadata,
)
from lance_core.file.reader import LanceFileReader, ReaderResults
from lance_core.file.session import LanceFileSession, ListResult
from lance_core.file.writer import LanceFileWriter, stable_version

__all__ = [
    "LanceBufferDescriptor",
    "LanceColumnMetadata",
    "LanceColumnStatistics",
    "LanceFileMetadata",
    "LanceFileReader",
    "LanceFileSession",
    "LanceFileStatistics",
    "LanceFileWriter",
    "LancePageMetadata",
    "ListResult",
    "ReaderResults",
    "stable_version",
]
