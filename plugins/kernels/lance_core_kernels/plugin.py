"""The entry module of the plugin: offers the compiled kernels if the library exists."""

from __future__ import annotations

from importlib.util import find_spec

from lance_core.hookspecs import KernelSpec, hookimpl


@hookimpl
def lance_kernels() -> list[KernelSpec]:
    """All kernels; an empty list if the wheel was built without a C compiler.

    A library that exists but cannot be loaded raises an error, which `lance-core plugins` shows.
    """
    if find_spec("lance_core_kernels._native") is None:
        return []
    from lance_core_kernels.compiled import COMPILED_KERNELS

    return [COMPILED_KERNELS]
