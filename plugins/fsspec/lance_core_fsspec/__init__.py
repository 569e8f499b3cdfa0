"""Tables on any fsspec file system, given by URL or as a Python object."""

from lance_core_fsspec.registry import register_file_system, unregister_file_system

__all__ = ["register_file_system", "unregister_file_system"]
