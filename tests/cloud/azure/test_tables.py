"""Tables in a container are exchanged with pylance, which works on them at the same time."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Reset, Rule, xml_error
from tests.servers.azurite import ACCOUNT, Azurite

APPENDS = 5
ROWS = 10

PYLANCE_WRITER = """
import json, sys, lance, pyarrow as pa
uri, options, writer, count, rows = json.loads(sys.stdin.read())
for number in range(count):
    start = writer * 1_000_000 + number * rows
    table = pa.table({"x": pa.array(range(start, start + rows), pa.int64())})
    lance.write_dataset(table, uri, mode="append", storage_options=options)
"""


def rows(writer: int, number: int = 0) -> pa.Table:
    start = writer * 1_000_000 + number * ROWS
    return pa.table({"x": pa.array(range(start, start + ROWS), pa.int64())})


@pytest.fixture(params=["az://{}/some/table", "abfss://{}@devstoreaccount1.dfs.core.windows.net/t"])
def uri(request: pytest.FixtureRequest, container: str) -> str:
    return str(request.param).format(container)


def test_tables_of_each_are_read_by_the_other(azurite: Azurite, uri: str) -> None:
    pair = [(lance, lance_core), (lance_core, lance)]
    nested = pa.table(
        {"a": [[1, 2], None, []], "b": [{"x": "ä"}, {"x": None}, None], "c": [1.5, None, -0.0]}
    )
    for number, (writer, reader) in enumerate(pair):
        place = f"{uri}{number}"
        writer.write_dataset(nested, place, storage_options=azurite.options)
        found = reader.dataset(place, storage_options=azurite.options)
        assert found.to_table() == nested
        assert found.version == 1


def test_appends_may_alternate(azurite: Azurite, uri: str) -> None:
    for number in range(6):
        library = (lance, lance_core)[number % 2]
        library.write_dataset(rows(number), uri, mode="append", storage_options=azurite.options)
    lance_core.dataset(uri, storage_options=azurite.options).delete("x % 10 = 3")
    lance.dataset(uri, storage_options=azurite.options).delete("x % 10 = 4")
    expected = [n * 1_000_000 + i for n in range(6) for i in range(ROWS) if i not in (3, 4)]
    for library in (lance, lance_core):
        found = library.dataset(uri, storage_options=azurite.options)
        assert found.version == 8
        assert sorted(found.to_table()["x"].to_pylist()) == expected


def test_appends_of_both_libraries_all_land(azurite: Azurite, container: str) -> None:
    uri, options = f"az://{container}/t", azurite.options
    lance.write_dataset(rows(0), uri, storage_options=options)
    foreign = []
    for writer in (1, 2):
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PYLANCE_WRITER], stdin=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps([uri, options, writer, APPENDS, ROWS]))
        process.stdin.close()
        foreign.append(process)

    def append_all(writer: int) -> None:
        for number in range(APPENDS):
            lance_core.write_dataset(
                rows(writer, number), uri, mode="append", storage_options=options
            )

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(append_all, (3, 4)))
    assert [process.wait() for process in foreign] == [0, 0]
    expected = sorted(
        [*range(ROWS)] + [w * 1_000_000 + i for w in (1, 2, 3, 4) for i in range(APPENDS * ROWS)]
    )
    for library in (lance, lance_core):
        found = library.dataset(uri, storage_options=options)
        assert found.version == 1 + 4 * APPENDS
        assert sorted(found.to_table()["x"].to_pylist()) == expected


@pytest.fixture
def through(azurite: Azurite, proxy: FaultProxy) -> dict[str, str]:
    return azurite.options | {"endpoint": f"{proxy.url}/{ACCOUNT}"}


def test_opening_and_appending_take_few_requests(
    proxy: FaultProxy, through: dict[str, str], container: str
) -> None:
    uri = f"az://{container}/t"
    options = through | {"put_if_absent": "yes"}
    for number in range(3):
        lance_core.write_dataset(rows(number), uri, mode="append", storage_options=options)
    proxy.set_rules(())
    dataset = lance_core.dataset(uri, storage_options=options)
    assert proxy.count() <= 2
    proxy.set_rules(())
    dataset.insert(rows(9))
    assert proxy.count() <= 4
    assert proxy.count("PUT") == 3
    assert [one.condition for one in proxy.requests if "_versions" in one.path][-1] == "*"


def test_commits_survive_a_bad_network(
    proxy: FaultProxy, through: dict[str, str], container: str
) -> None:
    uri = f"az://{container}/t"
    options = through | {"put_if_absent": "yes"}
    lance_core.write_dataset(rows(0), uri, storage_options=options)
    proxy.set_rules(
        [
            Rule(Reset(after=True), "PUT", "*.manifest", nth=1),
            Rule(xml_error(503, "ServerBusy"), "PUT", probability=0.15),
            Rule(xml_error(500, "InternalError", after=True), "PUT", probability=0.15),
            Rule(Reset(), probability=0.15),
        ]
    )
    for number in range(1, 6):
        lance_core.write_dataset(rows(number), uri, mode="append", storage_options=options)
    assert proxy.struck > 3
    proxy.set_rules(())
    found = lance.dataset(uri, storage_options=options | {"client_max_retries": "1"})
    assert found.count_rows() == 6 * ROWS
    assert found.version == 6


def test_old_versions_are_removed(azurite: Azurite, container: str) -> None:
    uri = f"az://{container}/t"
    for number in range(4):
        lance.write_dataset(rows(number), uri, mode="overwrite", storage_options=azurite.options)
    dataset = lance_core.dataset(uri, storage_options=azurite.options)
    removed = dataset.cleanup_old_versions(retain_versions=1, delete_unverified=True)
    assert removed.old_versions == 3
    assert [one["version"] for one in dataset.versions()] == [4]
    with pytest.raises((ValueError, OSError)):
        lance.dataset(uri, version=1, storage_options=azurite.options)
    assert lance.dataset(uri, storage_options=azurite.options).count_rows() == ROWS
