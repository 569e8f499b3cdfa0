"""An example plugin: a store that keeps a table in one SQLite file, and a commit handler.

This is the entry module. It is imported whenever plugins are looked up, so it imports nothing that
is not needed to describe what there is; ``factory`` texts name the rest.
"""

from __future__ import annotations

from lance_core.hookspecs import (
    CommitHandlerSpec,
    Guarantee,
    ObjectStoreSpec,
    StoreCapabilities,
    hookimpl,
)

CAPABILITIES = StoreCapabilities(
    put_if_absent=Guarantee.YES,
    rename_if_absent=Guarantee.YES,
    copy_if_absent=Guarantee.YES,
    ordered_list=Guarantee.YES,
    strong_reads=Guarantee.YES,
)
"""What every vault guarantees."""


@hookimpl
def lance_object_stores() -> list[ObjectStoreSpec]:
    """``vault://`` URLs."""
    return [
        ObjectStoreSpec(
            name="vault",
            schemes=("vault",),
            factory="lance_core_example_vault.store:open_vault",
            capabilities=CAPABILITIES,
            options=frozenset({"vault_timeout"}),
            option_aliases={"timeout": "vault_timeout"},
        )
    ]


@hookimpl
def lance_commit_handlers() -> list[CommitHandlerSpec]:
    """``+ledger`` behind the scheme of any store whose files are on this machine."""
    return [
        CommitHandlerSpec(
            name="ledger",
            factory="lance_core_example_vault.ledger:open_ledger",
            requires=frozenset({"strong_reads"}),
            url_suffix="ledger",
        )
    ]
