"""The client of servers: what it does with answers of all kinds, and with those of pylance."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import lance as pylance
import lance_namespace as names
import pyarrow as pa
import pytest
from lance.namespace import RestAdapter as PylanceServer
from lance.namespace import RestNamespace as PylanceClient
from lance_namespace import errors

import lance_core as lance
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.options import carrying_secrets
from lance_core.namespace import DynamicContextProvider, RestAdapter, RestNamespace
from tests.each_case import each_case
from tests.examples import share
from tests.servers.raw import Says, http, saying, trickling

ROWS = pa.table({"x": [1, 2]})
TOKEN = "tok-5ecret-0f-the-user-31337"
DESCRIBE = names.DescribeTableRequest(id=["n", "t"])
DECLARE = names.DeclareTableRequest(id=["n", "t"], location=None)


def answer(value: object, status: int = 200, **headers: str) -> Says:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return http(status, body, **headers)


def client_of(url: str, **properties: str) -> RestNamespace:
    options: Any = {"header.authorization": f"Bearer {TOKEN}", **properties}
    return RestNamespace(uri=url, **options)


FAILURES = {
    "garbage": (answer(b"<html>"), errors.InternalError, "garbage"),
    "half a JSON": (answer(b'{"location": '), errors.InternalError, "garbage"),
    "a list": (answer([1]), errors.InternalError, "garbage"),
    "a number as location": (answer({"location": 3}), errors.InternalError, "location"),
    "deep JSON": (answer(b"[" * 100_000), errors.InternalError, "garbage"),
    "401": (answer({}, 401), errors.UnauthenticatedError, "status 401"),
    "403": (answer(b"no", 403), errors.PermissionDeniedError, "status 403"),
    "404 of another server": (answer(b"<html>", 404), errors.UnsupportedOperationError, "not a"),
    "404": (answer({"error": "t", "code": 4}, 404), errors.TableNotFoundError, "^t$"),
    "409": (answer({"error": "t", "code": 5}, 409), errors.TableAlreadyExistsError, "^t$"),
    "409 alone": (answer(b"", 409), errors.ConcurrentModificationError, "status 409"),
    "429": (answer(b"", 429), errors.ThrottlingError, "status 429"),
    "500": (answer(b"boom", 500), errors.InternalError, "status 500"),
    "503": (answer(b"", 503), errors.ServiceUnavailableError, "status 503"),
    "a code that nobody knows": (answer({"code": 99}, 500), errors.InternalError, "status 500"),
    "the secret": (
        answer({"error": f"bad {TOKEN}\nand 'Bearer {TOKEN}'", "code": 15}, 403),
        errors.PermissionDeniedError,
        r"^bad \*\*\*\\nand",
    ),
    "a long text": (
        answer({"error": "a" * 10**4, "code": 13}, 400),
        errors.InvalidInputError,
        "^a{400}$",
    ),
    "a redirect": (
        answer(b"", 302, location="http://127.0.0.1:1/"),
        errors.InternalError,
        "redirect",
    ),
    "no HTTP": (Says(b"ssh-2.0\r\n"), errors.ServiceUnavailableError, "cannot be asked"),
    "nothing": (Says(b""), errors.ServiceUnavailableError, "cannot be asked"),
    "slow": (
        trickling(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"),
        errors.ServiceUnavailableError,
        "too long",
    ),
    "no location": (answer({"location": None}), lance.errors.DatasetNotFoundError, "no location"),
    "an unknown scheme": (
        answer({"location": "gopher://b/t"}),
        lance.errors.PluginNotFoundError,
        "gopher",
    ),
    "a location of two lines": (
        answer({"location": "s3://b/\nt"}),
        InvalidInputError,
        "control",
    ),
}


@each_case("failure", list(FAILURES))
def test_answers_that_are_of_no_use_are_errors_of_one_sentence(failure: str) -> None:
    says, kind, text = FAILURES[failure]
    with saying(says) as server:
        namespace = client_of(server.url, timeout="0.4")
        with pytest.raises(kind, match=text) as caught:
            lance.dataset(namespace_client=namespace, table_id=["n", "t"])
    shown = str(caught.value)
    assert TOKEN not in shown
    assert "\n" not in shown
    assert len(shown) < 700


def test_only_requests_that_change_nothing_are_sent_again() -> None:
    with saying(answer(b"", 503), answer({"location": "s3://b/t"})) as server:
        namespace = client_of(server.url)
        assert namespace.describe_table(DESCRIBE).location == "s3://b/t"
        assert len(server.requests) == 2
        with pytest.raises(errors.ServiceUnavailableError):
            namespace.declare_table(DECLARE)
        assert len(server.requests) == 3
    with saying(answer(b"", 429, retry_after="0"), answer({"location": "s3://b/t"})) as server:
        assert client_of(server.url).declare_table(DECLARE).location == "s3://b/t"
        assert len(server.requests) == 2


def test_a_server_elsewhere_names_no_place_on_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from lance_core_namespace import rest

    monkeypatch.setattr(rest, "is_loopback", lambda host: False)
    for location in ("/etc/passwd", "file:///etc", "memory://a"):
        with saying(answer({"location": location})) as server:
            with pytest.raises(errors.PermissionDeniedError, match="disk of this machine"):
                client_of(server.url).describe_table(DESCRIBE)
            allowed = client_of(server.url, allow_local_locations="true")
            assert allowed.describe_table(DESCRIBE).location == location


def test_properties_are_checked_and_headers_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    for properties, text in (
        ({}, "property uri"),
        ({"uri": "ftp://h"}, "http"),
        ({"uri": "http://"}, "http"),
        ({"uri": f"http://user:{TOKEN}@h"}, "header.Authorization"),
        ({"uri": f"http://h/?key={TOKEN}"}, "query"),
        ({"uri": "http://h:99999999"}, "http"),
        ({"uri": "http://h", "delimiter": "/"}, "delimiter"),
        ({"uri": "http://h", "timeout": "soon"}, "timeout"),
    ):
        with pytest.raises(InvalidInputError, match=text) as caught:
            RestNamespace(**properties)
        assert TOKEN not in str(caught.value)
    with pytest.raises(UnsupportedFeatureError, match="uir"):
        RestNamespace(uri="http://h", uir="http://h")
    namespace = client_of("http://localhost:1/a/")
    assert namespace.namespace_id() == (
        'RestNamespace { endpoint: "http://localhost:1/a", delimiter: "$" }'
    )
    with caplog.at_level(logging.DEBUG), pytest.raises(errors.ServiceUnavailableError) as failed:
        namespace.declare_table(DECLARE)
    with pytest.raises(errors.InvalidInputError, match="would be in a URL"):
        namespace.create_table(
            names.CreateTableRequest(id=["t"], storage_options={"secret_key": TOKEN}), b""
        )
    sent = pickle.dumps(namespace)
    texts = [repr(namespace), repr(failed.value), sent.decode("latin-1"), caplog.text]
    assert not any(TOKEN in text for text in texts)
    with pytest.raises(InvalidInputError, match="was dropped"):
        pickle.loads(sent).describe_table(DESCRIBE)
    with carrying_secrets():
        assert TOKEN in pickle.dumps(namespace).decode("latin-1")


class Provider(DynamicContextProvider):
    """Adds a header with what it was asked."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def provide_context(self, info: dict[str, str]) -> dict[str, str]:
        return {"headers.X-Info": f"{self.prefix}{info['operation']} {info['object_id']}"}


class Guarded(RestAdapter):
    """Remembers a header of each request."""

    def check(self, headers: Any) -> None:
        self.seen = [*getattr(self, "seen", []), headers.get("X-Info")]


def test_callers_add_headers_to_each_request(tmp_path: Path) -> None:
    with Guarded("dir", {"root": str(tmp_path)}, port=0) as server:
        uri = f"http://127.0.0.1:{server.port}"
        RestNamespace(Provider(), uri=uri).list_tables(names.ListTablesRequest(id=[]))
        path = f"{__name__}.Provider"
        named = {"dynamic_context_provider.impl": path, "dynamic_context_provider.prefix": "p "}
        lance.namespace.connect("rest", {"uri": uri, **named}).table_exists  # noqa: B018
        other = lance.namespace.connect("rest", {"uri": uri, **named})
        other.namespace_exists(names.NamespaceExistsRequest(id=[]))
        assert server.seen == ["list_tables $", "p namespace_exists $"]


def work(client: Any, library: Any, *id_: str) -> list[object]:
    """Something of everything, and what came of it."""
    named: Any = {"namespace_client": client, "table_id": list(id_)}
    client.create_namespace(names.CreateNamespaceRequest(id=[id_[0]], properties={"k": "v"}))
    library.write_dataset(ROWS, **named)
    library.write_dataset(ROWS, mode="append", **named)
    dataset = library.dataset(**named)
    dataset.delete("x = 1")
    dataset.create_branch("b")
    client.create_table_tag(names.CreateTableTagRequest(id=id_, tag="a", version=1))
    index = names.CreateTableIndexRequest(id=id_, column="x", index_type="BTREE")
    client.create_table_scalar_index(index)
    request = names.DescribeTableRequest(id=id_, load_detailed_metadata=True)
    query = names.QueryTableRequest(id=id_, k=9, vector={"single_vector": []}, filter="x > 1")
    rows = pa.ipc.open_file(client.query_table(query).data).read_all()
    versions = client.list_table_versions(names.ListTableVersionsRequest(id=id_)).versions
    indices = client.list_table_indices(names.ListTableIndicesRequest(id=id_)).indexes
    return [
        client.list_tables(names.ListTablesRequest(id=[id_[0]])).tables,
        client.describe_namespace(names.DescribeNamespaceRequest(id=[id_[0]])).properties,
        client.describe_table(request).to_dict()["schema"],
        [version.version for version in versions],
        list(client.list_table_tags(names.ListTableTagsRequest(id=id_)).tags),
        [(found.index_name, found.index_type) for found in indices],
        client.count_table_rows(names.CountTableRowsRequest(id=id_)).count,
        rows.to_pydict(),
        library.dataset(**named, version=1).count_rows(),
    ]


@each_case("managed", share(["true", "false"], 2, 0))
def test_clients_and_servers_of_both_libraries_understand_each_other(
    tmp_path: Path, managed: str
) -> None:
    properties = {"root": str(tmp_path), "table_version_tracking_enabled": managed}
    told = []
    for number, server in enumerate((RestAdapter, PylanceServer)):
        with server("dir", properties, port=0) as running:
            uri = f"http://127.0.0.1:{running.port}"
            told += [
                work(RestNamespace(uri=uri), lance, f"a{number}", "t"),
                work(PylanceClient(uri=uri), pylance, f"b{number}", "t"),
                work(RestNamespace(uri=uri), pylance, f"c{number}", "t"),
            ]
    assert told == [told[0]] * len(told)
    assert (told[0][0], told[0][-1]) == (["t"], 2)
