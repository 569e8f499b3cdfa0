"""The entry module: it offers the compiled inner loops, if there are any."""

from __future__ import annotations

from importlib.util import find_spec

from lance_core.hookspecs import KernelSpec, hookimpl


@hookimpl
def lance_kernels() -> list[KernelSpec]:
    """Every loop; none where there was no C compiler.

    A library that is there and cannot be loaded is an error, which `lance-core plugins` shows.
    """
    if find_spec("lance_core_kernels._native") is None:
        return []
    from lance_core_kernels.compiled import COMPILED_KERNELS

    return [COMPILED_KERNELS]
