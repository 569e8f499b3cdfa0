"""Tables on any fsspec file system: by URL, or on an object of this process."""

from lance_core_fsspec.registry import register_file_system, unregister_file_system

__all__ = ["register_file_system", "unregister_file_system"]
