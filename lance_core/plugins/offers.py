"""What all plugins offer, by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from lance_core.command_spec import CommandSpec
from lance_core.commits.base import CommitHandlerSpec
from lance_core.encodings.kernels import kernel_table
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion, FileVersionSpec
from lance_core.errors import PluginConflictError
from lance_core.function_spec import SqlFunctionSpec
from lance_core.imports.on_demand import import_module
from lance_core.imports.provided_names import ToolSpec
from lance_core.index.spec import AnalyzerSpec, IndexTypeSpec, SearchSpec, plain_index_type
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins.checked_results import encodings_of, kernels_of
from lance_core.plugins.loading import Contribution, PluginLoadFailure, PluginSource
from lance_core.plugins.manifest_stores import as_commit_handler
from lance_core.store.namespaces import NamespaceSpec
from lance_core.store.spec import ObjectStoreSpec
from lance_core.table.indices.index_metadata import details_key

T = TypeVar("T")

Descriptor: TypeAlias = ObjectStoreSpec | CommitHandlerSpec | IndexTypeSpec | SqlFunctionSpec
"""Descriptors whose provider is named in errors."""

Offers = dict[str, list[tuple[PluginSource, T]]]
"""All providers of each key."""


@dataclass(frozen=True, slots=True)
class AllOffers:
    """The descriptors of all plugins, indexed by key."""

    contributions: tuple[Contribution, ...]
    failures: tuple[PluginLoadFailure, ...]
    disabled: tuple[PluginSource, ...]
    schemes: Offers[ObjectStoreSpec]
    handlers: Offers[CommitHandlerSpec]
    handler_suffixes: Offers[CommitHandlerSpec]
    ranked_handlers: tuple[CommitHandlerSpec, ...]
    automatic_handlers: tuple[CommitHandlerSpec, ...]
    handler_options: Mapping[str, str]
    encodings: EncodingRegistry
    file_versions: Offers[FileVersionSpec]
    index_types: Offers[IndexTypeSpec]
    index_details: Offers[IndexTypeSpec]
    sql_functions: Offers[SqlFunctionSpec]
    searches: Offers[SearchSpec]
    analyzers: Offers[AnalyzerSpec]
    tools: Offers[ToolSpec]
    commands: Offers[CommandSpec]
    namespaces: Offers[NamespaceSpec]

    def source_of(self, spec: Descriptor) -> PluginSource | None:
        """The plugin that provides ``spec``, None if none does."""
        if isinstance(spec, SqlFunctionSpec):  # asked at each call, so without a search
            named = self.sql_functions.get(spec.name, ())
            return next((source for source, offered in named if offered is spec), None)
        for offers in (self.schemes, self.handlers, self.index_types):
            for offer in offers.values():
                for source, offered in offer:
                    if offered is spec:
                        return source
        return None


def all_offers(
    contributions: tuple[Contribution, ...],
    failures: tuple[PluginLoadFailure, ...],
    disabled: tuple[PluginSource, ...],
    file_version: Callable[[FileVersion], FileVersionSpec],
) -> AllOffers:
    """The descriptors of ``contributions`` by key; ``file_version`` looks one up later."""
    handlers = [(c.source, spec) for c in contributions for spec in _handlers(c)]
    handlers_by_name = _by_key((source, spec, spec.name) for source, spec in handlers)
    unique = [offers[0][1] for offers in handlers_by_name.values() if len(offers) == 1]
    ranked = sorted(unique, key=lambda spec: (-spec.rank, spec.name))
    return AllOffers(
        contributions=contributions,
        failures=failures,
        disabled=disabled,
        schemes=_by_key(
            (c.source, s, n) for c in contributions for s in c.object_stores for n in s.schemes
        ),
        handlers=handlers_by_name,
        ranked_handlers=tuple(ranked),
        automatic_handlers=tuple(
            [spec for spec in ranked if spec.multi_writer and spec.url_suffix is None]
        ),
        handler_suffixes=_by_key((source, spec, spec.url_suffix) for source, spec in handlers),
        handler_options={plain_name(n): n for _, spec in handlers for n in spec.options},
        encodings=EncodingRegistry(
            ((str(c.source), e) for c in contributions for e in encodings_of(c)),
            [
                *(str(failure) for failure in failures),
                *(f"{source}: disabled" for source in disabled),
            ],
            kernel_table((str(c.source), spec) for c in contributions for spec in kernels_of(c)),
            file_version,
            import_module,
        ),
        file_versions=_by_key(
            (c.source, spec, spec.version.value) for c in contributions for spec in c.file_versions
        ),
        index_types=_by_key(
            (c.source, spec, plain_index_type(name))
            for c in contributions
            for spec in c.index_types
            for name in (spec.name, *spec.kinds)
        ),
        index_details=_by_key(
            (c.source, spec, details_key(spec.details_url))
            for c in contributions
            for spec in c.index_types
        ),
        sql_functions=_by_key(
            (c.source, spec, name)
            for c in contributions
            for spec in c.sql_functions
            for name in spec.names
        ),
        searches=_by_key((c.source, s, s.name) for c in contributions for s in c.searches),
        analyzers=_by_key((c.source, s, s.name) for c in contributions for s in c.analyzers),
        tools=_by_key((c.source, s, s.name) for c in contributions for s in c.tools),
        commands=_by_key((c.source, s, s.name) for c in contributions for s in c.commands),
        namespaces=_by_key((c.source, s, s.name) for c in contributions for s in c.namespaces),
    )


def only(what: str, key: str, offers: list[tuple[PluginSource, T]]) -> T:
    """The provider of ``key``; raises `PluginConflictError` if there are several."""
    if len(offers) > 1:
        names = " and ".join(str(source) for source, _ in offers)
        raise PluginConflictError(f"{what} {key!r} is provided by {names}; uninstall one of them")
    return offers[0][1]


def plain_name(option: str) -> str:
    """The name of a handler's option in lower case and without underscores, for comparisons."""
    return option.lower().replace("_", "")


def _handlers(contribution: Contribution) -> list[CommitHandlerSpec]:
    """The commit handlers of one plugin, including those of its manifest stores."""
    return [
        *contribution.commit_handlers,
        *(
            as_commit_handler(spec, str(contribution.source))
            for spec in contribution.manifest_stores
        ),
    ]


def _by_key(provided: Iterable[tuple[PluginSource, T, str | None]]) -> Offers[T]:
    offers: Offers[T] = {}
    for source, spec, key in provided:
        if key is not None:
            offers.setdefault(key, []).append((source, spec))
    return offers
