"""The entry module of the plugin: offers the compiled kernels if the library exists."""

from __future__ import annotations

import pkgutil
from importlib.util import find_spec

from lance_core.hookspecs import KernelSpec, hookimpl


@hookimpl
def lance_kernels() -> list[KernelSpec]:
    """All kernels; if the wheel was built without a C compiler, none, with the reason.

    A library that exists but cannot be loaded raises an error, which `lance-core plugins` shows.
    """
    if find_spec("lance_core_kernels._native") is None:
        note = f"not compiled, numpy is used: {_reason()}"
        return [KernelSpec("compiled", {}, note=note)]
    from lance_core_kernels.compiled import COMPILED_KERNELS

    return [COMPILED_KERNELS]


def _reason() -> str:
    try:
        text = pkgutil.get_data("lance_core_kernels", "not_compiled.txt") or b""
    except OSError:
        text = b"the library is missing from the installation"
    return text.decode("utf-8", "replace").strip()
