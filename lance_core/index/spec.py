"""The descriptors of index types, searches and analyzers, which plugins return."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.index.analysis import Analyzer
    from lance_core.index.base import IndexType
    from lance_core.index.ranking import RankedSearch

IndexTypeFactory: TypeAlias = "Callable[[], IndexType]"
SearchFactory: TypeAlias = "Callable[[], RankedSearch]"
AnalyzerFactory: TypeAlias = "Callable[[], Analyzer]"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTypeSpec:
    """Describes an index type.

    ``name``: the name that users give, in lower case; the case and underscores of a given name do
    not matter. ``label``: the name in listings. ``details_url``: the type URL of the message
    ``IndexMetadata.index_details``, by which stored indices are recognised. ``factory``: returns
    the `IndexType`, or its import path ``"module:attribute"``, imported on first use. ``version``:
    the ``IndexMetadata.index_version`` that is written. ``stable_row_id_version``: the version that
    is written in tables with stable row ids, if it is another one. Indices of a higher version than
    both are ignored. ``kinds``: further names that users give, of a type that serves several kinds:
    the type gets the one that was given, in upper case, as the parameter ``kind``.
    ``readable_version``: the highest version that is read, if it is above those that are written.
    """

    name: str
    label: str
    details_url: str
    factory: IndexTypeFactory | str
    version: int = 0
    stable_row_id_version: int | None = None
    kinds: tuple[str, ...] = ()
    readable_version: int = 0

    def version_for(self, *, stable_row_ids: bool) -> int:
        """The ``index_version`` to write in a table with or without stable row ids."""
        if stable_row_ids and self.stable_row_id_version is not None:
            return self.stable_row_id_version
        return self.version

    @property
    def max_version(self) -> int:
        """The highest ``index_version`` that the type reads."""
        return max(self.version, self.stable_row_id_version or 0, self.readable_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpec:
    """Describes a search, which a plugin returns from ``lance_searches``.

    ``name``: the argument of scans that asks for it. ``factory``: returns the `RankedSearch`,
    or its import path ``"module:attribute"``, imported on first use.
    """

    name: str
    factory: SearchFactory | str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzerSpec:
    """Describes an analyzer of texts, which a plugin returns from ``lance_analyzers``.

    ``name``: the ``base_tokenizer`` of indices, such as ``simple``. ``factory``: returns the
    `Analyzer`, or its import path ``"module:attribute"``, imported on first use.
    """

    name: str
    factory: AnalyzerFactory | str


def plain_index_type(name: str) -> str:
    """The name of an index type in lower case and without underscores, for comparisons."""
    return name.lower().replace("_", "")
