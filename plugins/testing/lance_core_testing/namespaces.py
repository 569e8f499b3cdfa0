"""The contract of namespaces, as tests to inherit.

::

    class TestCatalog(NamespaceTests):
        secrets = ("the password of the database",)

        @pytest.fixture
        def connect(self, tmp_path):
            return functools.partial(MyCatalog, url=..., root=str(tmp_path))

``connect`` makes a new client of the same namespace, which is empty at first.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import LanceError
from lance_core_testing.assertions import must_raise
from lance_core_testing.threads import race_threads

ROWS = pa.table({"x": pa.array([1, 2, 3], pa.int64())})

_WRITERS = 4
_BAD_PARTS = ("", ".", "..", "a/b", "../a", "a\\b", "a\nb", "x" * 10_000)


class NamespaceTests:
    """The contract of a namespace. Subclass it and provide the fixture ``connect``.

    ``secrets``: texts that ``connect`` gives to the client, and that nothing may show. ``lacks``:
    the operations that the namespace refuses with ``UnsupportedOperationError``; all others of
    those that are used here must work.
    """

    secrets: ClassVar[Sequence[str]] = ()
    lacks: ClassVar[Sequence[str]] = ()

    @pytest.fixture
    def connect(self) -> Callable[[], Any]:
        """Override it: a function that makes a client of the same namespace at each call."""
        raise NotImplementedError("set the fixture connect: a function that makes a client")

    @pytest.fixture
    def namespace(self, connect: Callable[[], Any]) -> Any:
        """A client of the empty namespace."""
        return connect()

    def test_it_is_a_namespace_whose_id_is_stable(self, connect: Callable[[], Any]) -> None:
        interface = importlib.import_module("lance_namespace").LanceNamespace
        first, second = connect(), connect()
        assert isinstance(first, interface), f"{type(first).__name__} is no LanceNamespace"
        id_ = first.namespace_id()
        assert isinstance(id_, str), f"namespace_id() is {id_!r}, must be a text"
        assert id_, "namespace_id() is empty"
        assert id_ == second.namespace_id(), "clients of one namespace have different ids"

    def test_a_table_is_declared_written_and_opened_by_its_name(self, namespace: Any) -> None:
        made = lance.write_dataset(ROWS, namespace_client=namespace, table_id=["t"])
        assert made.count_rows() == 3
        described = namespace.describe_table(_request("DescribeTable", id=["t"]))
        assert described.location, "describe_table returns no location"
        namespace.table_exists(_request("TableExists", id=["t"]))
        lance.write_dataset(ROWS, mode="append", namespace_client=namespace, table_id=["t"])
        opened = lance.dataset(namespace_client=namespace, table_id=["t"])
        assert opened.to_table()["x"].to_pylist() == [1, 2, 3] * 2
        assert (
            lance.dataset(namespace_client=namespace, table_id=["t"], version=1).count_rows() == 3
        )

    def test_requests_may_be_dictionaries(self, namespace: Any) -> None:
        """Those of pylance are dictionaries with a method ``model_dump``."""
        namespace.declare_table(_Dictionary(id=["t"]))
        described = namespace.describe_table(_Dictionary(id=["t"], vend_credentials=True))
        assert described.location == _location(namespace, "t")

    def test_a_name_exists_once(self, namespace: Any) -> None:
        lance.write_dataset(ROWS, namespace_client=namespace, table_id=["t"])
        location = _location(namespace, "t")
        with must_raise(_error("TableAlreadyExists"), "declaring a table that exists"):
            _declare(namespace, "t")
        assert _location(namespace, "t") == location
        opened = lance.dataset(namespace_client=namespace, table_id=["t"])
        assert opened.count_rows() == 3, "declaring a table that exists changed it"

    def test_missing_tables_are_errors(self, namespace: Any) -> None:
        _declare(namespace, "other")
        for call, name in (
            ("describe_table", "DescribeTable"),
            ("table_exists", "TableExists"),
            ("drop_table", "DropTable"),
            ("deregister_table", "DeregisterTable"),
        ):
            if call not in self.lacks:
                with must_raise(_error("TableNotFound"), f"{call} of a table that is missing"):
                    getattr(namespace, call)(_request(name, id=["t"]))
        assert _tables(namespace) == ["other"]

    def test_names_that_are_no_names_are_refused(self, namespace: Any) -> None:
        """A name must not become a path to other files than those of its table."""
        for part in _BAD_PARTS:
            for id_ in ([part], ["n", part], [part, "t"]):
                shown = repr([text[:10] for text in id_])
                refused = _error("InvalidInput", "NamespaceNotFound", "UnsupportedOperation")
                with must_raise(refused, f"declaring the table {shown}") as caught:
                    _declare(namespace, *id_)
                text = str(caught.error)
                is_sentence = "\n" not in text and len(text) < 1000
                assert is_sentence, f"the error is no sentence: {text[:99]}"
            with must_raise(_error("InvalidInput"), f"describing the table {part[:10]!r}"):
                namespace.describe_table(_request("DescribeTable", id=[part]))
        with must_raise(_error("InvalidInput"), "declaring a table without a name"):
            _declare(namespace)
        assert _tables(namespace) == [], "a name that was refused is listed"

    def test_listings_are_complete_sorted_and_in_pages(self, namespace: Any) -> None:
        expected = sorted([*(f"t{number:02}" for number in range(9)), "Ä ö", "with space", "a.b"])
        for name in reversed(expected):
            _declare(namespace, name)
        assert _tables(namespace) == expected
        for limit in (1, 5, 12, 100):
            got: list[str] = []
            token = None
            for _ in range(len(expected) + 2):
                request = _request("ListTables", id=[], limit=limit, page_token=token)
                page = namespace.list_tables(request)
                assert len(page.tables) <= limit, f"a page of {limit} has {len(page.tables)} names"
                got += page.tables
                token = page.page_token
                if not token:
                    break
            assert got == expected, f"pages of {limit} have {got}, must have {expected}"

    def test_dropped_tables_are_gone_with_their_rows(self, namespace: Any) -> None:
        lance.write_dataset(ROWS, namespace_client=namespace, table_id=["t"])
        location = _location(namespace, "t")
        namespace.drop_table(_request("DropTable", id=["t"]))
        assert _tables(namespace) == []
        with must_raise(_error("TableNotFound"), "describing a table that was dropped"):
            _location(namespace, "t")
        with must_raise(LanceError, "opening the location of a table that was dropped"):
            lance.dataset(location)
        rows = ROWS.slice(0, 1)
        again = lance.write_dataset(rows, namespace_client=namespace, table_id=["t"])
        assert again.count_rows() == 1, "a new table has rows of an old one"
        _declare(namespace, "empty")
        namespace.drop_table(_request("DropTable", id=["empty"]))
        assert _tables(namespace) == ["t"]

    def test_deregistered_tables_keep_their_rows(self, namespace: Any) -> None:
        if "deregister_table" in self.lacks:
            return
        lance.write_dataset(ROWS, namespace_client=namespace, table_id=["t"])
        location = _location(namespace, "t")
        namespace.deregister_table(_request("DeregisterTable", id=["t"]))
        assert _tables(namespace) == []
        with must_raise(_error("TableNotFound"), "describing a table that was deregistered"):
            _location(namespace, "t")
        assert lance.dataset(location).count_rows() == 3, "deregister_table removed rows"

    def test_namespaces_nest_and_keep_their_tables_apart(self, namespace: Any) -> None:
        if "create_namespace" in self.lacks:
            return
        _create(namespace, "n", properties={"owner": "me"})
        _create(namespace, "n", "m")
        _create(namespace, "n2")
        described = namespace.describe_namespace(_request("DescribeNamespace", id=["n"]))
        assert described.properties == {"owner": "me"}
        locations = []
        for count, id_ in enumerate((["t"], ["n", "t"], ["n", "m", "t"], ["n2", "t"]), 1):
            rows = pa.table({"x": range(count)})
            lance.write_dataset(rows, namespace_client=namespace, table_id=id_)
            locations.append(_location(namespace, *id_).rstrip("/"))
        for count, id_ in enumerate((["t"], ["n", "t"], ["n", "m", "t"], ["n2", "t"]), 1):
            opened = lance.dataset(namespace_client=namespace, table_id=id_)
            assert opened.count_rows() == count, f"{id_} is another table"
        assert len(set(locations)) == 4
        inside = [(a, b) for a in locations for b in locations if a.startswith(f"{b}/")]
        assert inside == [], f"tables are in folders of others: {inside}"
        assert (_tables(namespace), _tables(namespace, "n")) == (["t"], ["t"])
        assert (_namespaces(namespace), _namespaces(namespace, "n")) == (["n", "n2"], ["m"])

    def test_namespaces_are_missing_exist_or_are_full(self, namespace: Any) -> None:
        if "create_namespace" in self.lacks:
            return
        _create(namespace, "n")
        with must_raise(_error("NamespaceAlreadyExists"), "creating a namespace that exists"):
            _create(namespace, "n")
        with must_raise(_error("NamespaceNotFound"), "creating a namespace in a missing one"):
            _create(namespace, "missing", "m")
        for call, name in (
            ("describe_namespace", "DescribeNamespace"),
            ("namespace_exists", "NamespaceExists"),
            ("drop_namespace", "DropNamespace"),
        ):
            with must_raise(_error("NamespaceNotFound"), f"{call} of a missing namespace"):
                getattr(namespace, call)(_request(name, id=["missing"]))
        namespace.namespace_exists(_request("NamespaceExists", id=["n"]))
        _declare(namespace, "n", "t")
        with must_raise(_error("NamespaceNotEmpty"), "dropping a namespace with a table"):
            namespace.drop_namespace(_request("DropNamespace", id=["n"]))
        namespace.describe_table(_request("DescribeTable", id=["n", "t"]))
        namespace.drop_table(_request("DropTable", id=["n", "t"]))
        namespace.drop_namespace(_request("DropNamespace", id=["n"]))
        assert _namespaces(namespace) == []

    def test_clients_see_what_others_did(self, connect: Callable[[], Any]) -> None:
        first, second = connect(), connect()
        assert _tables(first) == _tables(second) == []
        lance.write_dataset(ROWS, namespace_client=first, table_id=["t"])
        assert _tables(second) == ["t"]
        opened = lance.dataset(namespace_client=second, table_id=["t"])
        assert opened.count_rows() == 3
        second.drop_table(_request("DropTable", id=["t"]))
        assert _tables(first) == []

    def test_of_many_that_declare_a_name_one_succeeds(self, connect: Callable[[], Any]) -> None:
        for name in ("a", "b", "c"):
            clients = [connect() for _ in range(_WRITERS)]

            def declare(number: int, name: str = name, clients: list[Any] = clients) -> bool:
                return _wins(clients[number], name)

            won = sum(race_threads(declare, _WRITERS))
            assert won == 1, f"{won} of {_WRITERS} that declared a table at a time succeeded"

    def test_no_row_of_many_writers_is_lost(self, connect: Callable[[], Any]) -> None:
        lance.write_dataset(ROWS, namespace_client=connect(), table_id=["t"])

        def append(number: int) -> int:
            rows = pa.table({"x": [100 + number]})
            named: Any = {"namespace_client": connect(), "table_id": ["t"]}
            return lance.write_dataset(rows, mode="append", **named).version

        versions = race_threads(append, _WRITERS)
        assert len(set(versions)) == _WRITERS, f"two writers made one version: {versions}"
        opened = lance.dataset(namespace_client=connect(), table_id=["t"])
        got = sorted(opened.to_table()["x"].to_pylist())
        assert got == [1, 2, 3, *range(100, 100 + _WRITERS)]

    def test_versions_that_it_manages_are_made_once(self, namespace: Any) -> None:
        made = lance.write_dataset(ROWS, namespace_client=namespace, table_id=["t"])
        described = namespace.describe_table(_request("DescribeTable", id=["t"]))
        if not described.managed_versioning:
            return
        lance.write_dataset(ROWS, made, mode="append")
        listed = namespace.list_table_versions(_request("ListTableVersions", id=["t"])).versions
        assert sorted(version.version for version in listed) == [1, 2]
        described = namespace.describe_table_version(
            _request("DescribeTableVersion", id=["t"], version=1)
        )
        again = _request(
            "CreateTableVersion", id=["t"], version=1, manifest_path=described.version.manifest_path
        )
        lost = _error("ConcurrentModification")
        with must_raise(lost, "create_table_version of a version that exists"):
            namespace.create_table_version(again)
        with must_raise(_error("TableVersionNotFound"), "describing a missing version"):
            namespace.describe_table_version(_request("DescribeTableVersion", id=["t"], version=99))
        assert lance.dataset(namespace_client=namespace, table_id=["t"]).count_rows() == 6

    def test_nothing_shows_a_secret(self, namespace: Any, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.DEBUG):
            made = lance.write_dataset(ROWS, namespace_client=namespace, table_id=["t"])
            texts = [repr(namespace), str(namespace), namespace.namespace_id(), repr(made)]
            texts += [made.uri, repr(made.storage_options_accessor), repr(made.snapshot.manifest)]
            for call, id_ in (("describe_table", ["missing"]), ("declare_table", ["t"])):
                name = "".join(part.capitalize() for part in call.split("_"))
                with must_raise(Exception, call) as caught:
                    getattr(namespace, call)(_request(name, id=id_))
                texts.append(repr(caught.error))
        texts += [record.getMessage() for record in caplog.records]
        texts += _pickled(namespace) + _pickled(made)
        for secret in self.secrets:
            shown = [text for text in texts if secret in text]
            assert shown == [], f"a secret is shown: {shown[0].replace(secret, '***')[:300]}"


class _Dictionary(dict[str, Any]):
    """A request as pylance sends it."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(fields)

    def model_dump(self) -> dict[str, Any]:
        return dict(self)


def _request(name: str, **fields: Any) -> Any:
    """A request of lance-namespace, which this kit does not need until then."""
    return getattr(importlib.import_module("lance_namespace"), f"{name}Request")(**fields)


def _error(*names: str) -> tuple[type[Exception], ...]:
    errors = importlib.import_module("lance_namespace.errors")
    return tuple(getattr(errors, f"{name}Error") for name in names)


def _declare(namespace: Any, *id_: str) -> Any:
    return namespace.declare_table(_request("DeclareTable", id=list(id_), location=None))


def _wins(namespace: Any, name: str) -> bool:
    try:
        _declare(namespace, name)
    except _error("TableAlreadyExists", "ConcurrentModification"):
        return False
    return True


def _create(namespace: Any, *id_: str, properties: Any = None) -> None:
    request = _request("CreateNamespace", id=list(id_), properties=properties)
    namespace.create_namespace(request)


def _location(namespace: Any, *id_: str) -> str:
    location: str = namespace.describe_table(_request("DescribeTable", id=list(id_))).location
    return location


def _tables(namespace: Any, *id_: str) -> list[str]:
    return list(namespace.list_tables(_request("ListTables", id=list(id_))).tables)


def _namespaces(namespace: Any, *id_: str) -> list[str]:
    return list(namespace.list_namespaces(_request("ListNamespaces", id=list(id_))).namespaces)


def _pickled(value: object) -> list[str]:
    """The bytes of a pickle, as texts; none of what cannot be pickled."""
    try:
        return [bytes(ForkingPickler.dumps(value)).decode("latin-1")]
    except Exception:  # a client need not be picklable
        return []
