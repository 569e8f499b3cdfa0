"""The time by the store's clock. The store dates files, so their age is measured by its clock.

With a wrong clock of this machine, new files would look old.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

from lance_core.commits.environment import Environment
from lance_core.errors import StoreError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectMeta, ObjectStore
from lance_core.table.paths import VERSIONS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = EPOCH + timedelta(days=365)
"""Earlier dates count as missing: stores without dates report 1970, as some archives do."""


@dataclass(frozen=True, slots=True)
class StoreTime:
    """The current time ``now``.

    ``problem``: the reason why this machine's clock was used instead of the store's, or "".
    ``is_dated``: True if the store dates its objects.
    """

    now: datetime
    problem: str = ""
    is_dated: bool = True

    def age(self, meta: ObjectMeta) -> timedelta | None:
        """The age of an object, or None if its date is missing."""
        return None if meta.last_modified < EARLIEST else self.now - meta.last_modified


def store_time(store: ObjectStore, environment: Environment) -> StoreTime:
    """The date that the store gives to a new object, which is removed again."""
    path = f"{VERSIONS}/.tmp_clock_{environment.new_uuid().hex}"
    try:
        store.put(path, b"")
        written = store.head(path).last_modified
    except StoreError as error:
        return _own_time(environment, f"the table cannot be written to: {error}")
    finally:
        with contextlib.suppress(Exception):  # the next cleanup collects it
            store.delete(path)
    if written < EARLIEST:
        return _own_time(environment, "the store does not date its objects", is_dated=False)
    return StoreTime(written)


def _own_time(environment: Environment, problem: str, is_dated: bool = True) -> StoreTime:
    now = EPOCH + timedelta(microseconds=environment.clock() // 1000)
    return StoreTime(now, problem, is_dated)
