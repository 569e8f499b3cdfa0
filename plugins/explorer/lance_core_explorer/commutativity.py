"""Calls that need not wait for others, because their order makes no difference.

Only calls of which this holds for every other call that an actor of the configuration may make:

- `data/` and `_transactions/`: files whose names carry an identity that only their writer knows.
  Where nobody lists these folders nobody else can tell whether they are there.
- staged manifests: names of the same kind, which listings of versions pass over. Others learn the
  name from a row that names it, and that comes after it.
- reads of a manifest that is in place: where nothing removes or replaces manifests, the answer is
  the same for ever after.

Time is not among "every other call": while the schedule may still let time pass, nothing is eager.
"""

from __future__ import annotations

import re

from lance_core.table.paths import DATA, TRANSACTIONS, VERSIONS, parse_manifest_name
from lance_core_explorer.calls import Call
from lance_core_explorer.configuration import Eagerness

_STAGED = re.compile(r"[0-9]+\.manifest-[-0-9a-f]+")
_ON_ONE = frozenset({"put", "create", "delete", "head", "get"})


def private_files(call: Call) -> Eagerness:
    """Where nobody lists data files and transactions."""
    folder = call.key.partition("/")[0]
    is_private = call.method in _ON_ONE and folder in {DATA, TRANSACTIONS}
    if call.space == "store" and is_private:
        return Eagerness.ALWAYS
    return Eagerness.NEVER


def lasting_manifests(call: Call) -> Eagerness:
    """Where, moreover, manifests are never removed nor replaced."""
    if call.space != "store":
        return Eagerness.NEVER
    folder, _, name = call.key.rpartition("/")
    if folder != VERSIONS:
        return private_files(call)
    if name.startswith(".tmp_") and call.method in {"put", "delete"}:
        return Eagerness.ALWAYS
    if _STAGED.fullmatch(name) and call.method == "put":
        return Eagerness.ALWAYS
    is_read = call.method in {"get", "head"}
    if is_read and parse_manifest_name(name) is not None:
        return Eagerness.ONCE_PRESENT
    return Eagerness.NEVER
