"""Hosts that bypass a proxy, and the certificates of the proxy."""

from __future__ import annotations

import pytest

from lance_core.errors import InvalidInputError
from lance_core_remote.proxies import certificates_file, is_excluded, proxies_of
from lance_core_remote.settings import RemoteSettings
from tests.each_case import each_case


@each_case(
    ("host", "excludes", "expected"),
    [
        ("a.example", None, False),
        ("a.example", "", False),
        ("a.example", "*", True),
        ("a.example", "example", True),
        ("a.example", ".example", True),
        ("a.example", "*.example", True),
        ("A.Example", "x, EXAMPLE ", True),
        ("badexample", "example", False),
        ("a.example", "a.example:443", True),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("127.0.0.1", "127.0.0.1:9000", True),
        ("::1", "::1", True),
        ("[::1]", "[::1]", True),
    ],
)
def test_excluded_hosts_are_names_domains_addresses_and_networks(
    host: str, excludes: str | None, expected: bool
) -> None:
    assert is_excluded(host, excludes) is expected


def test_the_environment_chooses_if_no_option_names_a_proxy() -> None:
    assert proxies_of(RemoteSettings(), "host") is None
    remote = RemoteSettings(proxy_url="http://p:1", proxy_excludes="host")
    assert proxies_of(remote, "host") == {}
    assert proxies_of(remote, "other") == {"http": "http://p:1", "https": "http://p:1"}


@each_case(
    ("text", "url"),
    [("http://p:1", "http://p:1"), ("p:3128", "http://p:3128"), (" https://p ", "https://p")],
)
def test_a_proxy_is_an_address_with_or_without_a_scheme(text: str, url: str) -> None:
    assert RemoteSettings.of({"proxy_url": text}).proxy_url == url


@each_case("text", ["", "p", "socks5://p:1", "http://", "http://p:x", "MIIEvQIBADANBgkqhkiG9w0B"])
def test_other_texts_are_refused_unseen(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        RemoteSettings.of({"proxy_url": text})
    assert "MIIE" not in str(caught.value)


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'proxy_ca_certificate' must be certificates"):
        certificates_file("canary")
