"""Read and write one data file: the container of pages, metadata and footer."""

from lance_core.datafile.file_output import FileWriteResult
from lance_core.datafile.metadata import FileMetadata
from lance_core.datafile.reader import FileReader
from lance_core.datafile.writer import FileWriter

__all__ = ["FileMetadata", "FileReader", "FileWriteResult", "FileWriter"]
