"""How many requests tables take at each service, beside pylance's.

``tox -e bench-cloud`` tells more.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
import lance_core_dynamodb
from lance_core.commits import loop, verification
from lance_core_testing.network.fault_proxy import FaultProxy
from tests.servers.azurite import Azurite
from tests.servers.gcs import GcsServer
from tests.servers.moto import Moto

FOOTER = 64 << 10
"""Bytes at the end of a data file that are read at once."""
ROWS = 100_000
COLUMN_BYTES = 8 * ROWS
VOUCHED = {"put_if_absent": "yes", "multipart_if_absent": "yes", "copy_if_absent": "yes"}
"""As is so at the providers themselves; else the first write tries out what the server does."""


def random_table(rows: int) -> pa.Table:
    """Columns of eight bytes a row that cannot be made shorter."""
    chance = np.random.default_rng(5)
    return pa.table({name: chance.random(rows) for name in "abcd"})


@dataclass(frozen=True, slots=True)
class Place:
    """A table at a service, seen through a proxy."""

    proxy: FaultProxy
    uri: str
    options: dict[str, str]
    has_rows: bool = False
    """Whether commits are rows of a DynamoDB table."""

    def write(self, library: Any, data: pa.Table, **more: Any) -> None:
        library.write_dataset(data, self.uri, storage_options=self._options(library), **more)

    def open(self, library: Any) -> Any:
        return library.dataset(self.uri, storage_options=self._options(library))

    def counted(self, action: Callable[[], object]) -> tuple[int, int]:
        """How many requests for objects, and for rows, an action takes."""
        self.proxy.set_rules(())
        action()
        rows = self.proxy.count("POST", "/") if self.has_rows else 0
        return self.proxy.count() - rows, rows

    def received(self) -> int:
        """Bytes that came since."""
        return sum(one.received for one in self.proxy.requests)

    def _options(self, library: Any) -> dict[str, str]:
        return self.options | (VOUCHED if library is lance_core else {})


@pytest.fixture(autouse=True)
def nothing_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits look again if they take long; how busy the machine is must not count here."""
    monkeypatch.setattr(loop, "slow_after", lambda usual: math.inf)
    monkeypatch.setattr(verification, "FRESH", 1e9)


@pytest.fixture(params=["s3", "s3+ddb", "az", "gs"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    name = f"{uuid.uuid4().hex}.lance"
    server = request.getfixturevalue({"az": "azurite", "gs": "gcs"}.get(request.param, "moto"))
    origin = server.origin if isinstance(server, Azurite) else server.endpoint
    with FaultProxy(origin) as proxy:
        if isinstance(server, Azurite):
            options = Azurite(proxy.url).options
            yield Place(proxy, f"az://{server.new_container()}/{name}", options)
        elif isinstance(server, GcsServer):
            options = GcsServer(proxy.url).options
            yield Place(proxy, f"gs://{server.new_bucket()}/{name}", options)
        elif request.param == "s3":
            yield Place(proxy, f"s3://{server.new_bucket()}/{name}", Moto(proxy.url).options)
        else:
            options = Moto(proxy.url).options | {"dynamodb_endpoint": proxy.url}
            lance_core_dynamodb.create_table(name, options)
            uri = f"s3+ddb://{server.new_bucket()}/t?ddbTableName={name}"
            yield Place(proxy, uri, options, has_rows=True)


def test_opening_takes_two_requests_and_appending_four(place: Place) -> None:
    """List, read; data, list, transaction, manifest. With rows, manifests are staged and copied."""
    row = random_table(1)
    for library in (lance, lance_core):
        place.write(library, row, mode="append")
    opened = place.open(lance_core)
    assert place.counted(lambda: place.open(lance_core)) == (2, 1 if place.has_rows else 0)
    ours = place.counted(lambda: opened.insert(row))
    assert ours == ((7, 3) if place.has_rows else (4, 0))
    theirs = place.open(lance)
    assert ours[0] <= place.counted(lambda: theirs.insert(row))[0]
    assert place.counted(lambda: place.open(lance_core).count_rows()) == (
        2,
        1 if place.has_rows else 0,
    )


def test_reads_take_no_more_requests_than_those_of_pylance(place: Place) -> None:
    place.write(lance, random_table(ROWS))
    some = np.random.default_rng(1).choice(ROWS, 100, replace=False).tolist()
    reads: dict[str, Callable[[Any], object]] = {
        "scan": lambda table: table.to_table(),
        "column": lambda table: table.to_table(columns=["b"]),
        "take": lambda table: table.take(some),
        "one": lambda table: table.take([5], columns=["c"]),
        "filter": lambda table: table.to_table(filter="a < 0.001"),
        "count": lambda table: table.count_rows("d > 0.5"),
        "versions": lambda table: table.versions(),
    }
    counts, sizes = {}, {}
    for name, read in reads.items():
        for library in (lance_core, lance):
            table = place.open(library)
            counts[name, library] = place.counted(lambda: read(table))[0]  # noqa: B023
            sizes[name, library] = place.received()
    more = {n: counts[n, lance_core] - counts[n, lance] for n in reads}
    assert max(more.values()) <= 0, counts
    assert counts["column", lance_core] == 2
    assert sizes["column", lance_core] < COLUMN_BYTES + FOOTER + 4096
    assert sizes["scan", lance_core] < 4 * (COLUMN_BYTES + 4096) + FOOTER
