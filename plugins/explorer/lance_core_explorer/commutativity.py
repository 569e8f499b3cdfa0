"""Calls that commute with every other call, so their order is irrelevant.

Such calls are:

- `data/` and `_transactions/`: files whose names contain an id that only their writer knows. Unless
  an actor lists these folders, no other actor can see if they exist.
- staged manifests: unique names as well, which listings of versions ignore. Other actors learn the
  name from a row that is added later.
- reads of an existing manifest: the answer does not change if no actor removes or replaces
  manifests.

The passing of time is not a call: while the schedule may still let time pass, no call is eager.
"""

from __future__ import annotations

import re

from lance_core.table.paths import DATA, TRANSACTIONS, VERSIONS, parse_manifest_name
from lance_core_explorer.calls import Call
from lance_core_explorer.configuration import Eagerness

_STAGED = re.compile(r"[0-9]+\.manifest-[-0-9a-f]+")
_ON_ONE = frozenset({"put", "create", "delete", "head", "get"})


def private_files(call: Call) -> Eagerness:
    """For configurations in which no actor lists data files or transactions."""
    folder = call.key.partition("/")[0]
    is_private = call.method in _ON_ONE and folder in {DATA, TRANSACTIONS}
    if call.space == "store" and is_private:
        return Eagerness.ALWAYS
    return Eagerness.NEVER


def lasting_manifests(call: Call) -> Eagerness:
    """For configurations in which, in addition, no manifest is removed or replaced."""
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
