"""The entry module of the plugin: describes its store without importing an SDK."""

from __future__ import annotations

from lance_core.hookspecs import ManifestStoreSpec, hookimpl
from lance_core_dynamodb.options import ENDPOINT, NAMES, OF_S3


@hookimpl
def lance_manifest_stores() -> list[ManifestStoreSpec]:
    """The spec of the manifest store in DynamoDB, with the same rows as pylance."""
    return [
        ManifestStoreSpec(
            "ddb",
            "ddb",
            "lance_core_dynamodb.store:open_rows",
            options=frozenset({ENDPOINT}),
            shared_options=frozenset(NAMES) | OF_S3,
        )
    ]
