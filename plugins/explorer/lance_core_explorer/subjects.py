"""The shipped commit handlers, each on a store with its required guarantees."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lance_core.hookspecs.commits import (
    CommitHandler,
    ExternalManifestCommitHandler,
    PutIfAbsentCommitHandler,
    RenameCommitHandler,
    UnsafeCommitHandler,
)
from lance_core.hookspecs.stores import DeclaredStore, Guarantee, StoreCapabilities
from lance_core_explorer.calls import Call
from lance_core_explorer.commutativity import lasting_manifests, private_files
from lance_core_explorer.configuration import Eagerness, Effects, MakeHandler
from lance_core_explorer.manifest_rows import ManifestRows, SimulatedManifestStore
from lance_core_explorer.spaces import Space
from lance_core_explorer.store import EVERYTHING
from lance_core_lease.handler import LeaseCommitHandler, LeaseTerms
from lance_core_lease.store_leases import StoreLeases

TERMS = LeaseTerms(duration=9.0, request_lifetime=4.0, patience=60.0)
"""Short terms, because a waiting writer lists often, and each listing is a step."""

_UNORDERED = replace(EVERYTHING, ordered_list=Guarantee.NO)
_LEASES = replace(_UNORDERED, rename_if_absent=Guarantee.NO)
_DUMB = replace(_UNORDERED, put_if_absent=Guarantee.NO, rename_if_absent=Guarantee.NO)


@dataclass(frozen=True, slots=True)
class Subject:
    """A handler and its store; see `Configuration` for the fields."""

    name: str
    handler: MakeHandler
    capabilities: StoreCapabilities = EVERYTHING
    spaces: tuple[Space, ...] = ()
    shortest_sleep: float = 0.0
    late_for: float = 600.0
    is_lasting: bool = True

    def eager(self, call: Call) -> Eagerness:
        """The calls that commute if there is no cleanup and no table is dropped."""
        return lasting_manifests(call) if self.is_lasting else private_files(call)


def _leased(effects: Effects) -> CommitHandler:
    leases = StoreLeases(DeclaredStore(effects.store, _LEASES), TERMS, effects.environment)
    return LeaseCommitHandler(effects.store, leases, TERMS, effects.environment)


PUT_IF_ABSENT = Subject("put-if-absent", lambda e: PutIfAbsentCommitHandler(e.store))
UNORDERED = Subject(
    "put-if-absent-unordered", lambda e: PutIfAbsentCommitHandler(e.store), _UNORDERED
)
RENAME = Subject("rename", lambda e: RenameCommitHandler(e.store), _UNORDERED)
EXTERNAL = Subject(
    "external",
    lambda e: ExternalManifestCommitHandler(e.store, SimulatedManifestStore(e.port), "table"),
    _DUMB,
    (ManifestRows(),),
)
LEASE = Subject(
    "lease",
    _leased,
    _DUMB,
    shortest_sleep=7.0,
    late_for=TERMS.request_lifetime,
    is_lasting=False,
)
UNSAFE = Subject("unsafe", lambda e: UnsafeCommitHandler(e.store), _DUMB, is_lasting=False)

DIRECT = (PUT_IF_ABSENT, UNORDERED, RENAME)
"""The handlers that use only the store."""

SAFE = (*DIRECT, EXTERNAL, LEASE)
"""Every handler that supports several writers."""
