"""The former place of `lance_core_testing` (extra ``testing``), whose names it has until 0.2."""

from lance_core.imports.forwarding import forward

__path__: list[str] = []
__getattr__ = forward(__name__, "lance_core_testing", extra="testing")
