"""The descriptor of a tool. What its author needs besides is in `lance_core.maintenance`."""

from lance_core.imports.provided_names import ToolSpec

__all__ = ["ToolSpec"]
