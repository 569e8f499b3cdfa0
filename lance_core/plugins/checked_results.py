"""Have the results of other people's encodings and kernels checked.

The plugins of this project are tested against the contracts, and their loops are too short for a
check; all others get one. Stores, commit handlers and index types are checked where they are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_core.encodings.kernels import KernelSpec
from lance_core.encodings.registry import EncodingFamily, EncodingSpec
from lance_core.imports.on_demand import lazy_module
from lance_core.plugins.extras import EXTRAS
from lance_core.plugins.loading import Contribution, PluginSource

if TYPE_CHECKING:
    from lance_core.encodings.kernels import checked_kernels as kernels
    from lance_core.encodings.v2_0 import checked_encoding as arrays
    from lance_core.encodings.v2_1.codecs import checked_encoding as codecs
else:
    kernels = lazy_module("lance_core.encodings.kernels.checked_kernels")
    arrays = lazy_module("lance_core.encodings.v2_0.checked_encoding")
    codecs = lazy_module("lance_core.encodings.v2_1.codecs.checked_encoding")

_OF_THIS_PROJECT = {"lance-core", *(f"lance-core-{extra}" for extra in EXTRAS)}


def encodings_of(contribution: Contribution) -> list[EncodingSpec]:
    """The encodings of a plugin, with checked results if it is not of this project."""
    source = contribution.source
    if is_of_this_project(source):
        return list(contribution.encodings)
    return [_checked(spec, source) for spec in contribution.encodings]


def kernels_of(contribution: Contribution) -> list[KernelSpec]:
    """The kernels of a plugin, with checked results if it is not of this project."""
    source = contribution.source
    if is_of_this_project(source):
        return list(contribution.kernels)
    return [kernels.checked_kernels(spec, f"plugin {source}") for spec in contribution.kernels]


def is_of_this_project(source: PluginSource) -> bool:
    """True for a plugin whose distribution is one of this project."""
    return source.distribution.split()[0] in _OF_THIS_PROJECT


def _checked(spec: EncodingSpec, source: PluginSource) -> EncodingSpec:
    """``spec`` with checked results; those of a `ValueEncodingSpec` are checked by its caller."""
    plugin = f"encoding {spec.key!r} of plugin {source}"
    if spec.family is EncodingFamily.ARRAY:
        return arrays.checked_array_encoding(spec, plugin)
    if spec.family is EncodingFamily.COMPRESSIVE:
        return codecs.checked_compressive_encoding(spec, plugin)
    return spec
