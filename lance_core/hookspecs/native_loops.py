"""A library of compiled loops in a plugin that has the same loops in Python."""

from lance_core.imports.compiled_loops import CompiledLoops, is_built_of

__all__ = ["CompiledLoops", "is_built_of"]
