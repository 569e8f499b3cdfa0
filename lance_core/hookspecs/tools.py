"""The descriptor of a tool, and what tools for arrays and blobs are written with.

What authors of tools that change tables need besides is in `lance_core.maintenance`.
"""

from lance_core.imports.provided_names import ToolSpec
from lance_core.schema.blobs.fields import PREPARED_V2, BlobKind
from lance_core.schema.extension import register_extension_type
from lance_core.table.paths import side_file_path

__all__ = ["PREPARED_V2", "BlobKind", "ToolSpec", "register_extension_type", "side_file_path"]
