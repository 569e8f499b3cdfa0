"""The entry module of the plugin: describes its stores without importing an SDK."""

from __future__ import annotations

from lance_core.hookspecs import ObjectStoreSpec, hookimpl
from lance_core_s3.capabilities import OF_AMAZON
from lance_core_s3.options import ALIASES, NAMES, SECRETS


@hookimpl
def lance_object_stores() -> list[ObjectStoreSpec]:
    """The store spec for buckets; ``s3a`` and ``s3n`` are Hadoop's schemes for S3."""
    return [
        ObjectStoreSpec(
            name="s3",
            schemes=("s3", "s3a", "s3n"),
            factory="lance_core_s3.client:open_store",
            capabilities=OF_AMAZON,
            option_aliases=ALIASES,
            secret_options=SECRETS,
            options=NAMES,
            extra="s3",
            has_containers=True,
        )
    ]
