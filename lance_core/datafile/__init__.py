"""One data file: its container of pages, metadata and footer, read and written."""

from lance_core.datafile.file_output import FileWriteResult
from lance_core.datafile.metadata import FileMetadata
from lance_core.datafile.reader import FileReader
from lance_core.datafile.writer import FileWriter

__all__ = ["FileMetadata", "FileReader", "FileWriteResult", "FileWriter"]
