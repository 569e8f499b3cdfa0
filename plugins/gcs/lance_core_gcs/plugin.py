"""The entry module of the plugin: describes the store without importing an SDK."""

from __future__ import annotations

from lance_core.hookspecs import ObjectStoreSpec, hookimpl
from lance_core_gcs.capabilities import OF_GOOGLE
from lance_core_gcs.options import ALIASES, OPTIONS, SECRET_OPTIONS


@hookimpl
def lance_object_stores() -> list[ObjectStoreSpec]:
    """The store spec for ``gs://bucket/path``."""
    return [
        ObjectStoreSpec(
            name="gcs",
            schemes=("gs",),
            factory="lance_core_gcs.store:open_store",
            capabilities=OF_GOOGLE,
            option_aliases=ALIASES,
            secret_options=SECRET_OPTIONS,
            options=OPTIONS,
            extra="gcs",
            has_containers=True,
        )
    ]
