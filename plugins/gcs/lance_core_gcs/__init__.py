"""Tables on Google Cloud Storage."""

from lance_core_gcs.options import register_client, unregister_client

__all__ = ["register_client", "unregister_client"]
