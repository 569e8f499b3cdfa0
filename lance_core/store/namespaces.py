"""Namespaces: the descriptor that plugins return, and what keeps the options of a table valid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore
from lance_core.store.secret import Secret
from lance_core.store.uri import StoreUrl

NamespaceFactory: TypeAlias = Callable[..., Any]
"""Returns a ``LanceNamespace`` of the package lance-namespace; properties are keyword arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSpec:
    """Describes a namespace, which a plugin returns from ``lance_namespaces``.

    ``name``: what users give to `lance_core.namespace.connect`, such as ``"dir"``. ``factory``: the
    class, or its import path ``"module:attribute"``, imported at the first use.
    """

    name: str
    factory: NamespaceFactory | str


class TableProvider(ABC):
    """Opens the stores of one table with options that somebody else vends, such as a namespace.

    It is a part of `StoreConfig`, so it can be pickled, equals those that do the same, and shows no
    secrets. Methods are thread-safe.
    """

    @abstractmethod
    def provider_id(self) -> str:
        """A text that is equal for equal providers, without secrets."""

    @abstractmethod
    def storage_options(self) -> Mapping[str, str | Secret]:
        """The options that are valid now; new ones are asked for before they expire."""

    @abstractmethod
    def open_store(self, url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        """A store that uses valid options at each call.

        ``options``: those of the caller, and old ones that were vended.
        """

    @abstractmethod
    def commit_handler(self, store: ObjectStore, url: StoreUrl, folder: str) -> Any:
        """The `lance_core.commits.base.CommitHandler` of all versions; None: as without provider.

        ``store`` is rooted at ``folder`` below the table's ``url``: a branch, or "".
        """
