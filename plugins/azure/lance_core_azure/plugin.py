"""The entry module of the plugin: describes its stores without importing an SDK."""

from __future__ import annotations

from lance_core.hookspecs import ObjectStoreSpec, hookimpl
from lance_core_azure.capabilities import OF_AZURE
from lance_core_azure.options import ALIASES, NAMES, SECRETS


@hookimpl
def lance_object_stores() -> list[ObjectStoreSpec]:
    """The store spec for containers; ``abfss`` is the scheme of the Hadoop drivers."""
    return [
        ObjectStoreSpec(
            name="azure",
            schemes=("az", "abfss"),
            factory="lance_core_azure.store:open_store",
            capabilities=OF_AZURE,
            option_aliases=ALIASES,
            secret_options=SECRETS,
            options=NAMES,
            extra="azure",
            has_containers=True,
        )
    ]
