"""The entry module: it says what there is and imports no SDK."""

from __future__ import annotations

from lance_core.hookspecs import ManifestStoreSpec, hookimpl


@hookimpl
def lance_manifest_stores() -> list[ManifestStoreSpec]:
    """DynamoDB, with the rows of pylance."""
    return [
        ManifestStoreSpec(
            "ddb",
            "ddb",
            "lance_core_dynamodb.store:open_rows",
            options=frozenset({"dynamodb_endpoint"}),
        )
    ]
