"""What a URI or local path means."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.errors import InvalidInputError
from lance_core.store.uri import (
    StoreUrl,
    is_local_text,
    parse_uri,
    shown_uri,
    uri_above,
    uri_below,
    without_secrets,
)
from tests.each_case import each_case

HOME = str(Path.home())


@each_case(
    ("text", "path"),
    [
        ("/a b.lance", "/a b.lance"),
        ("/a%20b", "/a%20b"),
        ("/a?b=c", "/a?b=c"),
        ("/a#b", "/a#b"),
        ("/a\\b", "/a\\b"),
        ("/a//b/../c/", "/a/c"),
        ("/", "/"),
        ("~", HOME),
        ("~/x", f"{HOME}/x"),
        ("x", f"{Path.cwd()}/x"),
        (" ", f"{Path.cwd()}/ "),
        ("./s3:x", f"{Path.cwd()}/s3:x"),
        ("a/b://c", f"{Path.cwd()}/a/b:/c"),
        ("C:\\x", f"{Path.cwd()}/C:\\x"),
        ("C:/x", f"{Path.cwd()}/C:/x"),
        ("c:x", f"{Path.cwd()}/c:x"),
        ("/é/日本", "/é/日本"),
    ],
)
def test_local_paths_are_literal(text: str, path: str) -> None:
    assert parse_uri(text) == StoreUrl("file", path)
    assert is_local_text(text)


@each_case(
    ("text", "path"),
    [
        ("file:///a/b", "/a/b"),
        ("file:///a%20b", "/a b"),
        ("file:///a b", "/a b"),
        ("file:///%C3%A9", "/é"),
        ("file:///a%23b%3Fc", "/a#b?c"),
        ("file:///a%zz", "/a%zz"),
        ("file:///a/./b/../c/", "/a/c"),
        ("file:////a//b", "/a/b"),
        ("file:/a", "/a"),
        ("FILE:///a", "/a"),
        ("file://localhost/a", "/a"),
        ("file:///", "/"),
    ],
)
def test_file_urls_are_decoded(text: str, path: str) -> None:
    assert parse_uri(text) == StoreUrl("file", path)
    assert not is_local_text(text)


@each_case(
    ("text", "url"),
    [
        ("s3://bucket/a/b", StoreUrl("s3", "a/b", "bucket")),
        ("s3://bucket/a/b/", StoreUrl("s3", "a/b", "bucket")),
        ("s3://bucket", StoreUrl("s3", "", "bucket")),
        ("s3://bucket/", StoreUrl("s3", "", "bucket")),
        ("S3://Bucket/A", StoreUrl("s3", "A", "Bucket")),
        ("s3://bucket/a%20b/c+d", StoreUrl("s3", "a b/c+d", "bucket")),
        ("s3://bucket/a/../b", StoreUrl("s3", "b", "bucket")),
        (
            "s3+ddb://bucket/p?ddbTableName=T",
            StoreUrl("s3", "p", "bucket", "ddb", {"ddbTableName": "T"}),
        ),
        (
            "file+sql:///p?url=sqlite%3A%2F%2F%2Fx&a=",
            StoreUrl("file", "/p", "", "sql", {"url": "sqlite:///x", "a": ""}),
        ),
        ("memory://", StoreUrl("memory", "")),
        ("memory://name/x", StoreUrl("memory", "x", "name")),
        ("memory:///x", StoreUrl("memory", "x")),
        ("az://container@account.host/x", StoreUrl("az", "x", "container@account.host")),
        ("my-store.v2://x/y", StoreUrl("my-store.v2", "y", "x")),
    ],
)
def test_urls_have_parts(text: str, url: StoreUrl) -> None:
    parsed = parse_uri(text)
    assert parsed == url
    assert parsed.text == text
    assert hash(parsed) == hash(url)


@each_case(
    "text",
    [
        "",
        "a\0b",
        "a\nb",
        "s3:bucket/x",
        "s3:/bucket/x",
        "file:relative",
        "file://host/x",
        "file://",
        "file:///a#b",
        "s3://b/x#y",
        "s3+://b/x",
        "+s3://b/x",
        "1s3://b",
        "s_3://b/x",
        "a+b+c://x",
        "://x",
        "s3://b/a//b",
        "s3://b//a",
        "s3://b/../x",
        "s3://b/a/../../x",
        "s3://b/%2e%2e/x",
        "s3://b/%2E",
        "s3://b/a%2Fb",
        "s3://b/a%00",
        "s3://b/%ff",
        "file:///..%2Fx",
        "s3://b/x?novalue",
        "s3://b/x?a=1&a=2",
        "s3://b/x?a=%ff",
    ],
)
def test_what_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_uri(text)


@each_case("uri", [None, 3, b"/x", ["x"]])
def test_a_uri_is_text_or_a_path(uri: object) -> None:
    with pytest.raises(InvalidInputError):
        parse_uri(uri)  # type: ignore[arg-type]  # what is tested


def test_path_objects_are_literal() -> None:
    assert parse_uri(Path("/a%20b?c")) == StoreUrl("file", "/a%20b?c")
    assert parse_uri(PurePosixPath("s3:/x")) == StoreUrl("file", f"{Path.cwd()}/s3:/x")

    class BytesPath:
        def __fspath__(self) -> bytes:
            return b"/x"

    with pytest.raises(InvalidInputError):
        parse_uri(BytesPath())  # type: ignore[arg-type]


SECRET_URIS = [
    "s3://user:S3CRET@host/x",
    "s3://S3CRET@host/x?a=b",
    "s3://host/x?token=S3CRET",
    "file+sql:///x?url=postgresql%3A%2F%2Fu%3AS3CRET%40h",
]


@each_case("text", SECRET_URIS)
def test_a_shown_url_hides_what_may_be_secret(text: str) -> None:
    url = parse_uri(text)
    assert "S3CRET" not in f"{url} {url!r} {url!s:>5}"
    assert str(url).startswith(text.partition("://")[0])


@each_case(
    "text",
    [
        *SECRET_URIS,
        "s3://user:S3/CRET@host/x",
        "s3://user:S3?CRET@host/x",
        "s3:user:S3CRET@host",
        "s3://host/x#S3CRET",
        "://user:S3CRET@host",
    ],
)
def test_text_that_may_be_a_url_is_shown_without_what_may_be_secret(text: str) -> None:
    assert not set(re.findall("S3|CRET", text)) & set(re.findall("S3|CRET", shown_uri(text)))
    assert shown_uri("s3://host/a@b/" + "c" * 300) == "s3://host/a@b/" + "c" * 186 + "…"


@each_case("text", [*SECRET_URIS, "s3://user:S3CRET@host/x?a=b"])
@each_case("flaw", ["#x", "#?S3CRET", "/%ff?S3CRET", "/..//%2e?S3CRET"])
def test_an_error_hides_what_may_be_secret(text: str, flaw: str) -> None:
    broken = text.replace("/x", f"/x{flaw}") if flaw.startswith("/") else text + flaw
    with pytest.raises(InvalidInputError) as caught:
        parse_uri(broken)
    assert "S3CRET" not in str(caught.value)


@each_case("host", ["user:S3CRET", "user:", "user:S3", "me@user:S3", "[::1]:S3"])
def test_a_password_that_seems_to_be_a_port_is_refused_unseen(host: str) -> None:
    with pytest.raises(InvalidInputError, match="%2F") as caught:
        parse_uri(f"s3://{host}/CRET/%2F@host/x")
    assert not re.search("S3|CRET", str(caught.value).replace("'s3'", ""))


@each_case("netloc", ["host:9000", "[::1]", "[::1]:80", "u:p@h:1", "u:p@h", "a::b"])
def test_a_host_may_have_a_port(netloc: str) -> None:
    assert parse_uri(f"s3://{netloc}/x") == StoreUrl("s3", "x", netloc)


@each_case(
    ("text", "without"),
    [
        ("s3://u:p@h/x@y", "s3://u@h/x@y"),
        ("s3://u:p:q@h", "s3://u@h"),
        ("az://container@account/x", "az://container@account/x"),
        ("s3://h/x?a=u:p@v", "s3://h/x?a=u:p@v"),
        ("s3://h/x?ddbTableName=T&token=p", "s3://h/x?ddbTableName=T"),
        ("az://c/x?sv=1&SIG=p", "az://c/x?sv=1"),
        ("az://c/x?sas%5Ftoken=p", "az://c/x"),
        ("/u:p@h", "/u:p@h"),
    ],
)
def test_secrets_can_be_taken_out(text: str, without: str) -> None:
    assert without_secrets(text) == without


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        url = parse_uri(text)
    except InvalidInputError:
        return
    assert url.scheme
    assert url.scheme != "file" or url.path.startswith("/")
    assert url.scheme == "file" or not set(url.path.split("/")) & {".", ".."}
    assert repr(url)


@each_case(
    ("uri", "folder", "below"),
    [
        ("/t", "a", "/t/a"),
        ("/t/", "a/b", "/t/a/b"),
        ("t", "a", "t/a"),
        ("/t?x", "a", "/t?x/a"),
        ("s3://bucket/t", "a b", "s3://bucket/t/a%20b"),
        ("s3://bucket/t/?x=/a", "a", "s3://bucket/t/a?x=/a"),
        ("s3+ddb://bucket?T=t", "a/b", "s3+ddb://bucket/a/b?T=t"),
        ("file:///t", "a", "file:///t/a"),
    ],
)
def test_a_folder_below_a_place_has_a_uri_and_leads_back(uri: str, folder: str, below: str) -> None:
    assert uri_below(uri, folder) == below
    assert parse_uri(below).path.endswith(f"/{folder}") or parse_uri(below).path == folder
    above = uri_above(below, folder)
    assert above is not None
    assert parse_uri(above) == parse_uri(uri)


def test_a_place_is_below_itself() -> None:
    assert uri_below("s3://bucket/t?x=1", "") == "s3://bucket/t?x=1"


@each_case("uri", ["/x/ab", "a", "/a", "s3://bucket/xa", "s3://bucket/x?y=/a", "/x"])
def test_a_place_that_does_not_end_in_the_folder_is_not_below_another(uri: str) -> None:
    assert uri_above(uri, "a") is None


@each_case(
    ("text", "folder", "path"),
    [
        ("s3://bucket/a", "tree/b c%", "a/tree/b c%"),
        ("s3+ddb://bucket/a?ddbTableName=T", "tree/b", "a/tree/b"),
        ("memory://", "tree/b", "tree/b"),
        ("file:///", "tree", "/tree"),
        ("file:///a%20b", "tree", "/a b/tree"),
        ("/a%20b", "tree", "/a%20b/tree"),
    ],
)
def test_a_folder_below_a_location_is_what_its_uri_names(text: str, folder: str, path: str) -> None:
    below = parse_uri(text).below(folder)
    assert below.path == path
    if text != "memory://":  # there is no text for a folder of a root without a name
        assert below == parse_uri(uri_below(text, folder))
        assert below.text == uri_below(text, folder)


def test_a_location_is_its_own_root() -> None:
    url = parse_uri("s3://bucket/a")
    assert url.below("") is url
