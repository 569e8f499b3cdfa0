"""The array encodings of the core package; each module is imported when it is first needed."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from lance_core.encodings.registry import EncodingSpec
from lance_core.encodings.version import FileVersion, Importer, resolved

_WRITTEN_AND_READ = (
    *("flat", "nullable", "fixed_size_list", "binary", "dictionary", "fsst", "packed_struct"),
)
_ONLY_READ = ("bitpacked_for_non_neg",)


def specs(import_module: Importer = importlib.import_module) -> list[EncodingSpec]:
    """The specs of all supported alternatives of ``lance.encodings.ArrayEncoding``.

    ``list`` and ``struct`` are not included: they describe columns instead of arrays. The functions
    of an encoding are in the module of its name.
    """
    decoders = {
        key: _late(f"{__package__}.{key}:decode_{key}", import_module)
        for key in (*_WRITTEN_AND_READ, *_ONLY_READ)
    }
    encoders = {
        key: _late(f"{__package__}.{key}:encode_{key}", import_module) for key in _WRITTEN_AND_READ
    }
    return [
        EncodingSpec(key, FileVersion.V2_0, decoder, encoders.get(key))
        for key, decoder in decoders.items()
    ]


def _late(path: str, import_module: Importer) -> Callable[..., Any]:
    """A function that imports the one at ``path`` when it is first called, and calls that."""
    function = functools.cache(lambda: resolved(path, import_module))

    def call(*arguments: Any) -> Any:
        return function()(*arguments)

    return call
