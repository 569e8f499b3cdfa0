"""Open stores from a URI and options, and cache them: one store per table, options and process."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from lance_core.commits.base import CommitHandlerSpec
from lance_core.concurrency.lru_cache import LruCache
from lance_core.error_texts.suggestions import ALMOST_EQUAL, nearest, shortened
from lance_core.errors import InvalidInputError
from lance_core.imports.on_demand import lazy_module
from lance_core.plugins.factories import call_factory, checked
from lance_core.plugins.manager import get_manager
from lance_core.plugins.observers import observed
from lance_core.plugins.offers import plain_name
from lance_core.store.base import ObjectStore, StoreCapabilities
from lance_core.store.secret import (
    Secret,
    check_storage_options,
    hide_secrets,
    plain,
    without_frames,
    wrap_secrets,
)
from lance_core.store.secret_detection import looks_secret
from lance_core.store.spec import ObjectStoreSpec
from lance_core.store.uri import StoreUrl, parse_uri

if TYPE_CHECKING:
    from lance_core.plugins import known_plugins
else:
    known_plugins = lazy_module("lance_core.plugins.known_plugins")

HANDLER_OPTION = "commit_handler"
"""Storage option with the name of the commit handler."""

ALLOW_OPTION = "allow_base_paths"
"""Storage option with the base paths outside of a table that files may be read from."""

VERIFY_OPTION = "verify"
"""Storage option; "pages": the pages of data files are checked against their checksums."""

CHECKSUMS_OPTION = "checksums"
"""Storage option; "pages": the pages of new data files get checksums."""

CAPABILITY_OPTIONS = frozenset(field.name for field in fields(StoreCapabilities))
"""Storage options by which a user declares a guarantee of a store: ``yes``, ``no`` or ``probe``."""

MAX_LIVE_STORES = 64
"""Maximum number of cached stores in a process; the least recently used is dropped first."""

Options = Mapping[str, str | Secret]
"""Options of a store or handler by name; see `Secret` for the form of values."""

_OF_THE_TABLE = CAPABILITY_OPTIONS | {
    *(ALLOW_OPTION, HANDLER_OPTION, VERIFY_OPTION, CHECKSUMS_OPTION)
}


live_stores: LruCache[Hashable, ObjectStore] = LruCache(MAX_LIVE_STORES, parents_only=True)
"""The cached stores of this process, by descriptor, URL, query and options."""


def open_store(
    uri: str | os.PathLike[str] | StoreUrl, storage_options: Options | None = None
) -> ObjectStore:
    """The store rooted at ``uri``; equal URLs and options give the same object.

    Options of the table and of commit handlers are ignored. Raises `InvalidInputError` for an
    invalid URI or option, and for query parameters without a commit handler that may take them;
    `PluginNotFoundError` if no plugin serves the scheme.
    """
    if storage_options is not None:
        storage_options = hide_secrets(storage_options)
    url = uri if isinstance(uri, StoreUrl) else parse_uri(uri)
    spec = get_manager().object_store(url.scheme)
    if url.query and url.commit_scheme is None and HANDLER_OPTION not in (storage_options or {}):
        _refuse_parameters(spec, url)
    options: dict[str, str | Secret] = {}
    canonical: frozenset[tuple[str, str | Secret]] = frozenset()
    if storage_options:
        options = _for_the_store(storage_options)
        _check_options(spec, url, options, storage_options)
        canonical = frozenset(spec.canonical_options(options).items())
    query: frozenset[tuple[str, Secret]] = frozenset()
    if url.query:
        query = frozenset([(name, Secret(value)) for name, value in url.query.items()])
    key = (spec, url, query, canonical)
    return live_stores.get(key, lambda: _open(spec, url, options))


def _refuse_parameters(spec: ObjectStoreSpec, url: StoreUrl) -> None:
    """Raise `InvalidInputError` for parameters of a URL that names no commit handler.

    A store without declared options may take parameters of its own.
    """
    suffixes = {name: known_plugins.SUFFIX_OF_PARAMETER.get(plain_name(name)) for name in url.query}
    name = next((name for name in suffixes if suffixes[name]), next(iter(suffixes)))
    suffix = suffixes[name]
    if suffix is None:
        if spec.options is None:
            return
        raise InvalidInputError(
            f"{url}: a URL of scheme {url.scheme!r} has no parameter {shortened(name)}; options "
            "are given as storage_options"
        )
    shown = replace(url, commit_scheme=suffix)
    text = str(shown)
    if suffix == "ddb" and not looks_secret(url.query[name]):
        text = text.replace(f"{name}=***", f"{name}={shortened(url.query[name])[1:-1]}")
    raise InvalidInputError(
        f"{url}: the parameter {shortened(name)} belongs to commits by way of {suffix!r}, which "
        f"the scheme must name: write {text}"
    )


def _open(spec: ObjectStoreSpec, url: StoreUrl, options: Options) -> ObjectStore:
    what = f"store {spec.name!r} of {get_manager().provider_of(spec)}"
    wrapped = wrap_secrets(options, spec.secret_options)
    store = call_factory(what, url, wrapped, lambda: spec.open(url, options))
    return observed(checked(store, what, url, wrapped), url.scheme)


def _check_options(
    spec: ObjectStoreSpec, url: StoreUrl, options: dict[str, str | Secret], every: Options
) -> None:
    """Remove options of other components from ``options``, and reject unknown ones.

    Raises `InvalidInputError` for an option of no component. A store without declared options may
    accept any option; then only near misspellings of an option of the table or of a commit handler
    are rejected.
    """
    undeclared = spec.undeclared_options(options)
    if not undeclared:
        return
    shared, requested = _other_specs(url, every), _handlers_asked_for(url, every)
    others = _OF_THE_TABLE.union(get_manager().handler_options.values())
    for name in undeclared:
        if _belongs_elsewhere(spec, name, shared, requested):
            del options[name]
        elif spec.options is not None or nearest(name, others, ALMOST_EQUAL):
            if url.commit_scheme is not None:
                get_manager().url_suffix(url.commit_scheme)  # a missing handler is a clearer error
            raise spec.refusal(name, others, _owners(name))


def _owners(option: str) -> list[str]:
    """The names of the installed stores that define an option."""
    specs = (spec for plugin in get_manager().plugins for spec in plugin.object_stores)
    return [
        spec.name
        for spec in specs
        if spec.options is not None and not spec.undeclared_options({option: ""})
    ]


def _other_specs(url: StoreUrl, options: Options) -> list[ObjectStoreSpec]:
    """Descriptors of additional stores that commit handlers open with the same options."""
    manager = get_manager()
    values = {plain_name(name): value for name, value in (*url.query.items(), *options.items())}
    names = {plain_name(spec.place_option) for spec in manager.commit_handlers if spec.place_option}
    return [manager.object_store(_scheme_of(values[name])) for name in names & values.keys()]


def _scheme_of(uri: str | Secret) -> str:
    """The scheme of a URI. Errors have no frames, whose variables would show a secret."""
    try:
        return parse_uri(plain(uri)).scheme
    except InvalidInputError as error:
        failure = without_frames(error)
    raise failure


def _belongs_elsewhere(
    spec: ObjectStoreSpec,
    name: str,
    shared: Sequence[ObjectStoreSpec],
    requested: Sequence[CommitHandlerSpec],
) -> bool:
    manager = get_manager()
    if plain_name(name) in manager.handler_options:
        return True
    others = [*shared]
    if spec.ignores_options_of_others:
        others += [other for plugin in manager.plugins for other in plugin.object_stores]
        requested = manager.commit_handlers
    if any(name.lower() in map(str.lower, handler.shared_options) for handler in requested):
        return True
    return any(not other.undeclared_options({name: ""}) for other in others)


def _handlers_asked_for(url: StoreUrl, options: Options) -> Sequence[CommitHandlerSpec]:
    """The commit handlers that the URL's suffix or an option requests, if installed."""
    manager = get_manager()
    names = {plain(options[HANDLER_OPTION])} if HANDLER_OPTION in options else set()
    return [
        spec
        for spec in manager.commit_handlers
        if spec.name in names or (spec.url_suffix and spec.url_suffix == url.commit_scheme)
    ]


def _for_the_store(options: Options) -> dict[str, str | Secret]:
    """``options`` without the options of the table."""
    check_storage_options(options)
    return {name: value for name, value in options.items() if name not in _OF_THE_TABLE}
