"""The former place of `lance_core_remote` (extra ``remote``), whose names it has until 0.2."""

from lance_core.imports.forwarding import forward

__path__: list[str] = []
__getattr__ = forward(__name__, "lance_core_remote", extra="remote")
