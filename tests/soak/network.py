"""Writers on a network that fails: what they were told, and what is in the table."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import lance_core as lance
from lance_core import errors
from lance_core_remote import retries
from lance_core_testing.network.fault_proxy import FaultProxy
from tests.soak.mixes import FIRST_PAUSE, LONGEST_PAUSE, rules
from tests.soak.places import Place

ROWS = 3
"""Rows of a commit."""

TIMES = {"timeout": "10s", "connect_timeout": "5s", "client_retry_timeout": "20s"}
"""Options of the writers. A call may take as long as it is sent again, and one request more."""

LONGEST_CALL = 30.0
"""Seconds that ``TIMES`` allow for."""


@dataclass
class Figures:
    """What a run came to; ``longest``: of all calls of the store, in seconds."""

    acknowledged: int = 0
    refused: int = 0
    unknown: int = 0
    lost: int = 0
    duplicated: int = 0
    struck: int = 0
    requests: int = 0
    longest: float = 0.0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


@contextmanager
def scaled() -> Iterator[list[float]]:
    """Pauses of remote stores are a hundredth; the seconds that calls took are given."""
    took: list[float] = []
    send = retries.Sender._send

    def timed(self: retries.Sender, call: retries.Call, request: Callable[[], Any]) -> Any:
        start = time.monotonic()
        try:
            return send(self, call, request)
        finally:
            took.append(time.monotonic() - start)

    with (
        patch.object(retries, "FIRST_PAUSE", FIRST_PAUSE),
        patch.object(retries, "MAX_PAUSE", LONGEST_PAUSE),
        patch.object(retries.Sender, "_send", timed),
    ):
        yield took


class Writers:
    """Threads that append to one table, and remember what they were told."""

    def __init__(self, uri: str, options: dict[str, str]) -> None:
        self._uri = uri
        self._options = options
        self._lock = threading.Lock()
        self._next = 0
        self.told: dict[int, str] = {}
        self.wrong: list[str] = []

    def run(self, writers: int, commits: int) -> None:
        """``commits`` commits by each of ``writers`` threads."""
        threads = [threading.Thread(target=self._write, args=(commits,)) for _ in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _write(self, commits: int) -> None:
        done = failed = 0
        while done < commits and failed < commits:
            outcome = self.append()
            done += outcome == "acknowledged"
            failed += outcome != "acknowledged"

    def append(self) -> str:
        """One commit, and how it ended."""
        with self._lock:
            number = self._next
            self._next += 1
        outcome = self._outcome(number)
        with self._lock:
            self.told[number] = outcome
        return outcome

    def _outcome(self, number: int) -> str:
        try:
            lance.write_dataset(
                rows(number), self._uri, mode="append", storage_options=self._options
            )
        except errors.CommitUnknownError:
            return "unknown"
        except (errors.StoreError, errors.CommitError):
            # Also where it is a data file that may be there: nobody refers to it.
            return "refused"
        except Exception as error:
            self.wrong.append(f"raised {type(error).__name__}: {error}")
            return "broken"
        return "acknowledged"


def rows(number: int) -> pa.Table:
    return pa.table({"id": [ROWS * number + one for one in range(ROWS)]})


def run(place: Place, mix: str, writers: int = 4, commits: int = 20, seed: int = 1) -> Figures:
    """Writers at ``place`` through a network that fails as ``mix`` says, from the first request."""
    with FaultProxy(place.endpoint, seed) as proxy, scaled() as took:
        proxy.set_rules(rules(mix, place.name))
        started = time.monotonic()
        at = Writers(place.uri(proxy.url), place.options(proxy.url) | TIMES)
        at.run(writers, commits)
        found = Figures(
            struck=proxy.struck,
            requests=proxy.count(),
            longest=max(took),
            seconds=time.monotonic() - started,
            wrong=at.wrong,
        )
    check(place, at.told, found)
    return found


def check(place: Place, told: dict[int, str], found: Figures) -> None:
    """Compare the table, as both libraries read it, with what the writers were told."""
    uri, options = place.uri(place.endpoint), place.options(place.endpoint)
    outcomes = Counter(told.values())
    found.acknowledged, found.refused = outcomes["acknowledged"], outcomes["refused"]
    found.unknown = outcomes["unknown"]
    table = lance.dataset(uri, storage_options=options)
    ids = table.to_table()["id"].to_pylist()
    count = Counter(one // ROWS for one in ids)
    for number, outcome in told.items():
        if outcome == "acknowledged" and not count[number]:
            found.lost += 1
            found.wrong.append(f"acknowledged commit {number} is lost")
        if outcome == "refused" and count[number]:
            found.wrong.append(f"refused commit {number} is there")
        if count[number] > ROWS:
            found.duplicated += 1
            found.wrong.append(f"commit {number} is there {count[number] / ROWS} times")
        elif count[number] not in {0, ROWS}:
            found.wrong.append(f"a part of commit {number} is there")
    if len(set(ids)) < len(ids):
        found.wrong.append("rows are there twice")
    if table.version != len(count):
        found.wrong.append(f"{len(count)} commits are there and version {table.version}")
    if place.has_peers:
        import lance as pylance

        theirs = pylance.dataset(uri, storage_options=options).to_table()["id"].to_pylist()
        if theirs != ids:
            found.wrong.append("pylance reads other rows")
