"""What time it is where the files are: the store's clock dates files, so it has to age them too.

A machine whose clock is wrong would take new files for old ones.
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
"""What is dated before is not dated: stores that keep no dates tell 1970, as some archives do."""


@dataclass(frozen=True, slots=True)
class StoreTime:
    """The time ``now``.

    ``problem`` tells why it is not the store's but this machine's, if so. ``is_dated``: whether
    the store dates its objects at all.
    """

    now: datetime
    problem: str = ""
    is_dated: bool = True

    def age(self, meta: ObjectMeta) -> timedelta | None:
        """How long ago an object was written, None if its date says nothing."""
        return None if meta.last_modified < EARLIEST else self.now - meta.last_modified


def store_time(store: ObjectStore, environment: Environment) -> StoreTime:
    """The date that the store gives to an object that is written now, and removed again."""
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
