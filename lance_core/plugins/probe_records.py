"""Keep the results of probes in the config of tables, so that other processes need none.

A probe takes two dozen requests, which every process paid before its first commit. A commit of a
process that has probed adds a record to the table's config: which guarantees were found, on which
day, and a digest of what gives them (`ObjectStore.guarantor`: server, container and way of
writing). A process that opens the table at the same place believes the record for `VALID_DAYS`; a
copy of the table at another place, or another way to reach it, has another digest, and is probed.

A record says what was true on its day. A user who replaces the server behind an address by one
that ignores conditions, within these days, must remove the record.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from lance_core.plugins.capability_evidence import (
    PROBED,
    ProbeVerdict,
    believe,
    is_probe_requested,
    verdict_of,
)
from lance_core.plugins.store_cache import Options
from lance_core.store.base import Guarantee, ObjectStore

PROBE_KEY = "lance_core.probed"
"""Key of a table's config: records of probes, ``digest day capability+capability``, with ``;``
between them."""

VALID_DAYS = 30
"""Days after which a record is ignored, and replaced by the next process that probes."""

MAX_RECORDS = 4
"""Records in one config, the newest ones; a table may be reached in several ways."""

_RECORD = re.compile(r"([0-9a-f]{32}) (\d{4}-\d{2}-\d{2}) ([a-z_]+(?:\+[a-z_]+)*)", re.ASCII)

_Records = dict[str, tuple[date, frozenset[str]]]


def learn_probes(
    store: ObjectStore, config: Mapping[str, str], options: Options, today: date | None = None
) -> None:
    """Believe the record of ``store`` in the config of a table, if there is a valid one."""
    text = config.get(PROBE_KEY)
    guarantor = store.guarantor if text else None
    if not text or guarantor is None or is_probe_requested(options):
        return
    record = _parsed(text, today or _today()).get(_digest(guarantor))
    if record is not None:
        believe(store, record[1] & PROBED)


def probe_record(
    store: ObjectStore, config: Mapping[str, str], today: date | None = None
) -> dict[str, str]:
    """The config entry that a commit adds: with a record, if this process has probed ``store``.

    Empty if there is nothing to add to ``config``, the table's config before the commit.
    """
    guarantor = store.guarantor
    verdict = None if guarantor is None else verdict_of(store)
    if guarantor is None or verdict is None or not verdict.is_probed:
        return {}
    today = today or _today()
    records = _parsed(config.get(PROBE_KEY, ""), today)
    proven = _proven(store, verdict)
    known = records.get(_digest(guarantor))
    if not proven or (known is not None and known[1] == proven):
        return {}
    records[_digest(guarantor)] = (today, proven)
    newest = sorted(records.items(), key=lambda each: each[1][0], reverse=True)[:MAX_RECORDS]
    return {PROBE_KEY: ";".join(f"{key} {day} {'+'.join(sorted(v))}" for key, (day, v) in newest)}


def _proven(store: ObjectStore, verdict: ProbeVerdict) -> frozenset[str]:
    """The guarantees that the probe has shown, and the store itself does not know."""
    return frozenset(
        name
        for name in PROBED
        if getattr(verdict.capabilities, name) is Guarantee.YES
        and getattr(store.capabilities, name) is Guarantee.UNKNOWN
    )


def _parsed(text: str, today: date) -> _Records:
    """The valid records of a config's value; anything else in it is ignored."""
    records: _Records = {}
    for part in text[:1000].split(";"):
        record = _RECORD.fullmatch(part)
        if record is None:
            continue
        try:
            day = date.fromisoformat(record[2])
        except ValueError:
            continue
        # A clock may be a day ahead of this one.
        if timedelta(days=-1) <= today - day <= timedelta(days=VALID_DAYS):
            records[record[1]] = (day, frozenset(record[3].split("+")))
    return records


def _digest(guarantor: str) -> str:
    return hashlib.sha256(guarantor.encode()).hexdigest()[:32]


def _today() -> date:
    return datetime.now(UTC).date()
