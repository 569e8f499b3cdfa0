"""The messages of files of version 0.1, whose container is a plugin: metadata and manifest."""

from lance_core._pb.file_pb2 import Metadata
from lance_core._pb.table_pb2 import Manifest

__all__ = ["Manifest", "Metadata"]
