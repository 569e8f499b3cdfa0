"""Names of the storage options, as pylance and the library beneath it (object_store) know them."""

from __future__ import annotations

from lance_core.store.remote import settings

_OWN = {
    "service_account": "google_service_account",
    "google_service_account_path": "google_service_account",
    "service_account_path": "google_service_account",
    "service_account_key": "google_service_account_key",
    "application_credentials": "google_application_credentials",
    "google_bearer_token": "google_storage_token",
    "bearer_token": "google_storage_token",
    "skip_signature": "google_skip_signature",
    "base_url": "google_base_url",
    "google_bucket_name": "google_bucket",
    "bucket": "google_bucket",
    "bucket_name": "google_bucket",
}

CREDENTIALS = frozenset(
    {
        "google_application_credentials",
        "google_service_account",
        "google_service_account_key",
        "google_skip_signature",
        "google_storage_token",
    }
)
"""Options that say with which credentials requests are made."""

OPTIONS = CREDENTIALS | {"google_base_url", "google_bucket", "use_opendal"} | settings.OPTIONS
"""Canonical names of all options."""

ALIASES = _OWN | settings.aliases("google_")
"""Other names, each with its canonical name."""

SECRET_OPTIONS = (
    frozenset({"google_service_account_key", "google_storage_token"}) | settings.SECRET_OPTIONS
)

IN_ENVIRONMENT = {
    **{name.upper(): name for name in OPTIONS - {"google_bucket"} if name.startswith("google_")},
    **{alias.upper(): name for alias, name in ALIASES.items() if alias.startswith("google_")},
    "SERVICE_ACCOUNT": "google_service_account",
}
"""Environment variables that are read, each with the option that it stands for."""
