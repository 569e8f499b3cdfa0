"""`CompiledLoops`: the compiled library of a plugin, whose package has the same loops in Python.

The library is the module ``_native`` of the package. The build hook compiles into it the checksum
of ``_native.pyi``, by which a library of other sources is told, which may remain in a checkout.
"""

from __future__ import annotations

import os
import pkgutil
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def is_built_of(native: ModuleType, package: str) -> bool:
    """True if the library ``native`` has the functions that ``_native.pyi`` of ``package`` says."""
    signatures = pkgutil.get_data(package, "_native.pyi") or b""
    return getattr(native, "INTERFACE", None) == zlib.crc32(signatures)


class CompiledLoops:
    """The library of ``package``, unless the environment ``variable`` is "numpy".

    The variable is read here, once per process. A library that cannot be loaded, or has other
    sources, is not used, with a `RuntimeWarning`. ``native``: the library; None if there is none.
    """

    def __init__(self, package: str, variable: str) -> None:
        failure, name = None, f"{package}._native"
        self.native: ModuleType | None = None
        try:
            self.native = import_module(name)
        except ImportError as error:
            failure = str(error) if find_spec(name) else None
        else:
            if not is_built_of(self.native, package):
                distribution = package.replace("_", "-")
                failure = f"they are not those of this {distribution}; install it again"
        is_usable = self.native is not None and failure is None
        self._is_used = is_usable and os.environ.get(variable) != "numpy"
        if failure is not None:
            text = f"the compiled loops are not used, but numpy: {failure}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)

    def is_used(self) -> bool:
        """True if the library exists and is used."""
        return self._is_used

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        """Use the loops in Python in all threads of the process, for tests."""
        before, self._is_used = self._is_used, False
        try:
            yield
        finally:
            self._is_used = before
