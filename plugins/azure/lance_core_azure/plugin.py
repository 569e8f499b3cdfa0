"""The entry module: it says what there is and imports no SDK."""

from __future__ import annotations

from lance_core.hookspecs import ObjectStoreSpec, hookimpl
from lance_core_azure.capabilities import OF_AZURE
from lance_core_azure.options import ALIASES, NAMES, SECRETS


@hookimpl
def lance_object_stores() -> list[ObjectStoreSpec]:
    """Containers; ``abfss`` is what the drivers of Hadoop call the same."""
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
