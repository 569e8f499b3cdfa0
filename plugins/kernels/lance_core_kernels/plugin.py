"""The entry module: it hands the compiled inner loops over, if there are any."""

from __future__ import annotations

from importlib.util import find_spec

from lance_core.encodings import kernels
from lance_core.hookspecs import EncodingSpec, hookimpl


@hookimpl
def lance_encodings() -> list[EncodingSpec]:
    """No encodings: those that there are become faster.

    Where there was no C compiler, nothing changes. A library that is there and cannot be loaded is
    an error, which `lance-core plugins` shows.
    """
    if find_spec("lance_core_kernels._native") is not None:
        from lance_core_kernels import compiled

        kernels.use(compiled)
    return []
