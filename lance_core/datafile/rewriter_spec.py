"""The descriptor of a rewriter of fragments, which plugins return."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.datafile.fragment_rewriter import FragmentRewriter

RewriterFactory: TypeAlias = "Callable[[], FragmentRewriter]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriterSpec:
    """Describes a rewriter, which a plugin returns from ``lance_rewriters``.

    ``name``: the way of compacting, such as ``binary_copy``. ``factory``: returns the
    `FragmentRewriter`, or its import path ``"module:attribute"``, imported on first use.
    """

    name: str
    factory: RewriterFactory | str
