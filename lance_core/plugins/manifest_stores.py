"""Create commit handlers from external manifest stores: the protocol with a plugin's rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from lance_core.commits.base import CommitHandler, CommitHandlerSpec, ManifestStoreSpec
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.external_manifest import REQUIRES, ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_store import ExternalManifestStore
from lance_core.errors import PluginLoadError
from lance_core.store.base import ObjectStore
from lance_core.store.secret import Secret
from lance_core.store.spec import resolve_factory
from lance_core.store.uri import StoreUrl


def as_commit_handler(spec: ManifestStoreSpec) -> CommitHandlerSpec:
    """A commit handler with the name and suffix of ``spec`` that commits through its rows."""
    return CommitHandlerSpec(
        spec.name,
        partial(_open, spec),
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
    store: ObjectStore,
    url: StoreUrl,
    options: Mapping[str, str | Secret],
    environment: Environment,
) -> CommitHandler:
    rows = _rows(spec, url, options)
    return ExternalManifestCommitHandler(store, rows, base_uri_of(url))


def _rows(
    spec: ManifestStoreSpec, url: StoreUrl, options: Mapping[str, str | Secret]
) -> ExternalManifestStore:
    factory = resolve_factory(spec.factory, f"manifest store {spec.name!r}")
    rows: object = factory(url, options)
    if not isinstance(rows, ExternalManifestStore):
        raise PluginLoadError(
            f"factory of manifest store {spec.name!r} returned {type(rows).__name__}, no "
            "ExternalManifestStore"
        )
    return rows
