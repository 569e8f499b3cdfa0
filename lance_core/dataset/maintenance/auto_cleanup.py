"""Automatic cleanup after a commit, every so many versions, as the table's config says.

Keys: ``lance.auto_cleanup.interval`` (in versions), ``.older_than`` (such as ``14d``),
``.retain_versions``, ``.delete_rate_limit`` and ``.delete_concurrency``. Without the first key
there is no automatic cleanup. Tagged versions stay. A cleanup of a table leaves its branches alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import InvalidInputError
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.commits.cleanup import policy
    from lance_core.commits.cleanup.policy import CleanupPolicy
    from lance_core.dataset.maintenance import cleanup
else:
    policy = lazy_module("lance_core.commits.cleanup.policy")
    cleanup = lazy_module("lance_core.dataset.maintenance.cleanup")

PREFIX = "lance.auto_cleanup."

_LOG = logging.getLogger("lance_core")
_MAX_CHARACTERS = 200
"""Maximum characters of a duration; no valid duration needs as many."""
_PART = re.compile(r"\s*(\d+)\s*([a-zA-Z]+)\s*", re.ASCII)
_SECONDS = {
    "ns nsec nanos": 1e-9,
    "us usec micros": 1e-6,
    "ms msec millis": 1e-3,
    "s sec secs second seconds": 1.0,
    "m min mins minute minutes": 60.0,
    "h hr hrs hour hours": 3600.0,
    "d day days": 86400.0,
    "w wk wks week weeks": 7 * 86400.0,
    "M month months": 30.44 * 86400.0,
    "y yr yrs year years": 365.25 * 86400.0,
}
_UNITS = {unit: seconds for units, seconds in _SECONDS.items() for unit in units.split()}


def auto_cleanup(snapshot: Snapshot) -> None:
    """Clean up if the number of ``snapshot``, a version just committed, is a multiple of interval.

    Logs all errors and raises none, because the commit has succeeded.
    """
    config = snapshot.manifest.config
    if f"{PREFIX}interval" not in config:
        return
    try:
        interval = _number(config, "interval") or 1
        if snapshot.version % interval == 0:
            report = cleanup.run(
                snapshot, _policy(snapshot, config), _number(config, "delete_concurrency")
            )
            _LOG.info("automatic cleanup removed %d versions", len(report.versions))
    except Exception as error:
        _LOG.warning("the commit succeeded, the cleanup after it failed: %s", error)


def _policy(snapshot: Snapshot, config: Mapping[str, str]) -> CleanupPolicy:
    older_than = config.get(f"{PREFIX}older_than")
    return policy.CleanupPolicy(
        older_than=None if older_than is None else duration(older_than),
        retain_versions=_number(config, "retain_versions"),
        before=snapshot.version,
        error_if_tagged=False,
        delete_rate_limit=_number(config, "delete_rate_limit"),
    )


def _number(config: Mapping[str, str], name: str) -> int | None:
    text = config.get(PREFIX + name)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,19}", text, re.ASCII):
        raise InvalidInputError(f"{PREFIX}{name} is not a whole number: {text!r}")
    return int(text)


def duration(text: str) -> timedelta:
    """The duration that ``text`` states, such as ``14days``, ``1h 30m`` or ``1209600s``.

    Raises `InvalidInputError` for any other text.
    """
    # The regex takes quadratic time.
    parts = _PART.findall(text) if len(text) <= _MAX_CHARACTERS else []
    is_whole = parts and not _PART.sub("", text)
    if not is_whole or any(unit not in _UNITS for _, unit in parts):
        raise InvalidInputError(f"{text[:100]!r} is not a duration: write it like 14days or 1h")
    try:
        return timedelta(seconds=sum(int(count) * _UNITS[unit] for count, unit in parts))
    except (OverflowError, ValueError):
        raise InvalidInputError(f"{text[:100]!r} is too long a duration") from None
