"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from lance_core.hookspecs import CommitHandlerSpec, hookimpl

LEASE_URI = "lease_uri"
OPTIONS = frozenset({LEASE_URI, "lease_duration", "lease_request_lifetime", "lease_patience"})


@hookimpl
def lance_commit_handlers() -> list[CommitHandlerSpec]:
    """The commit handler ``lease``."""
    return [
        CommitHandlerSpec(
            name="lease",
            factory="lance_core_lease.factory:lease_handler",
            requires=frozenset({"strong_reads"}),
            url_suffix="lease",
            options=OPTIONS,
            place_option=LEASE_URI,
        )
    ]
