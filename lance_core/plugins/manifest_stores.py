"""Create commit handlers from external manifest stores: the protocol with a plugin's rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from lance_core.commits.base import CommitHandler, CommitHandlerSpec, ManifestStoreSpec
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.external_manifest import REQUIRES, ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_store import ExternalManifestStore
from lance_core.error_texts.plugin_calls import wrong_result
from lance_core.errors import PluginLoadError
from lance_core.imports.on_demand import lazy_module
from lance_core.plugins.factories import masked
from lance_core.store.base import ObjectStore
from lance_core.store.secret import Secret
from lance_core.store.spec import resolve_factory
from lance_core.store.uri import StoreUrl

if TYPE_CHECKING:
    from lance_core.commits.handlers import checked_manifest_store as checks
else:
    checks = lazy_module("lance_core.commits.handlers.checked_manifest_store")


def as_commit_handler(spec: ManifestStoreSpec, plugin: str = "") -> CommitHandlerSpec:
    """A commit handler with the name and suffix of ``spec`` that commits through its rows.

    ``plugin`` names the plugin in errors.
    """
    return CommitHandlerSpec(
        spec.name,
        partial(_open, spec, plugin),
        REQUIRES,
        spec.url_suffix,
        options=spec.options,
        shared_options=spec.shared_options,
    )


def base_uri_of(url: StoreUrl) -> str:
    """The key of a table in rows: its path in the store without leading and trailing slashes."""
    return url.path.strip("/")


def _open(
    spec: ManifestStoreSpec,
    plugin: str,
    store: ObjectStore,
    url: StoreUrl,
    options: Mapping[str, str | Secret],
    environment: Environment,
) -> CommitHandler:
    what = f"manifest store {spec.name!r}" + (f" of plugin {plugin}" if plugin else "")
    rows = _rows(spec, what, url, options)
    rows = checks.checked_rows(rows, what, lambda text: masked(text, url, options))
    return ExternalManifestCommitHandler(store, rows, base_uri_of(url))


def _rows(
    spec: ManifestStoreSpec, what: str, url: StoreUrl, options: Mapping[str, str | Secret]
) -> ExternalManifestStore:
    factory = resolve_factory(spec.factory, what)
    rows: object = factory(url, options)
    if not isinstance(rows, ExternalManifestStore):
        expected = "an ExternalManifestStore"
        raise PluginLoadError(wrong_result(what, "the factory", rows, expected))
    return rows
