"""Options of remote stores, as users write them."""

from __future__ import annotations

import pytest

from lance_core.errors import InvalidInputError
from lance_core.store.secret import Secret
from lance_core_remote.option_values import (
    GivenOptions,
    Options,
    take,
    take_boolean,
    take_integer,
    take_seconds,
)
from lance_core_remote.options import Option, add_variables, variables_of
from lance_core_remote.settings import (
    ALIASES,
    OPTIONS,
    SECRET_OPTIONS,
    RemoteSettings,
    variables,
)
from tests.each_case import each_case


@each_case(
    ("text", "seconds"),
    [
        ("30", 30.0),
        ("0.5", 0.5),
        ("30s", 30.0),
        (" 5 seconds ", 5.0),
        ("1m 30s", 90.0),
        ("1min30sec", 90.0),
        ("500ms", 0.5),
        ("2 HOURS", 7200.0),
        ("1d", 86400.0),
        ("250 us", 0.00025),
        ("1month", 30.44 * 86400),
        ("2 weeks", 14 * 86400.0),
    ],
)
def test_durations_are_read_as_other_clients_read_them(text: str, seconds: float) -> None:
    assert take_seconds({"timeout": text}, "timeout", default=1.0) == pytest.approx(seconds)


@each_case(
    "text", ["", "0", "0s", "-1", "s", "5 parsecs", "5s x", "1e3", "nan", "99999999999s", "٣s"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="'timeout' must be a duration"):
        take_seconds({"timeout": text}, "timeout", default=1.0)


@each_case(
    ("text", "value"),
    [("true", True), ("True", True), ("1", True), (" on ", True), ("y", True), ("no", False)],
)
def test_booleans_have_many_spellings(text: str, value: bool) -> None:
    assert take_boolean({"allow_http": text}, "allow_http") is value


@each_case("text", ["", "ja", "2", "truee"])
def test_what_is_no_boolean_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="'allow_http' must be 'true' or 'false'"):
        take_boolean({"allow_http": text}, "allow_http")


@each_case("text", ["", "-1", "1.5", "x", "9999999999", "²"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="'client_max_retries' must be a whole number"):
        take_integer({"client_max_retries": text}, "client_max_retries", default=1)


def test_what_is_taken_is_gone() -> None:
    options: Options = {"a": "1", "b": Secret("2"), "c": "3"}
    assert (take(options, "a"), take(options, "b"), take(options, "z")) == ("1", "2", None)
    assert options == {"c": "3"}
    assert take({"x": "1", "y": "1"}, "x", "y") == "1"
    with pytest.raises(InvalidInputError, match="'x' and 'y'") as caught:
        take({"x": "s3cret", "y": "other"}, "x", "y")
    assert "s3cret" not in str(caught.value)


def test_settings_take_their_options_and_leave_the_others() -> None:
    options: Options = {
        "allow_http": "true",
        "allow_invalid_certificates": "1",
        "request_timeout": "10s",
        "connect_timeout": "2",
        "client_max_retries": "0",
        "client_retry_timeout": "60",
        "download_retry_count": "7",
        "user_agent": "me",
        "proxy_url": Secret("http://proxy"),
        "proxy_ca_certificate": "PEM",
        "proxy_excludes": "a,b",
        "headers.X-Mine": Secret("h"),
        "default_content_type": "a/b",
        "read_timeout": "4s",
        "pool_max_idle_per_host": "6",
        **dict.fromkeys(("http1_only", "http2_only", "http2_keep_alive_while_idle"), "true"),
        **dict.fromkeys(("http2_keep_alive_interval", "http2_keep_alive_timeout"), "5s"),
        "http2_max_frame_size": "1",
        "pool_idle_timeout": "9s",
        "randomize_addresses": "no",
        "bucket": "mine",
    }
    given = options.keys() - {"bucket", "request_timeout", "headers.X-Mine"}
    assert given | {"timeout", "headers.*"} == OPTIONS
    settings = RemoteSettings.of(options)
    assert options == {"bucket": "mine"}
    assert settings == RemoteSettings(
        allow_http=True,
        allow_invalid_certificates=True,
        timeout=10.0,
        connect_timeout=2.0,
        max_retries=0,
        retry_timeout=60.0,
        contact_timeout=60.0,
        download_retries=7,
        user_agent="me",
        proxy_url="http://proxy",
        proxy_ca_certificate="PEM",
        proxy_excludes="a,b",
        headers=(("X-Mine", Secret("h")),),
        content_type="a/b",
        read_timeout=4.0,
        max_idle=6,
    )


@each_case(
    ("name", "value"),
    [
        ("http1_only", "zz"),
        ("http2_keep_alive_interval", "often"),
        ("pool_max_idle_per_host", "5s"),
        ("read_timeout", "0"),
        ("user_agent", "two\nlines"),
        ("default_content_type", "söme"),
        ("headers.", "x"),
        ("headers.a b", "x"),
        ("headers.X-Mine", "two\r\nlines"),
        ("headers.Range", "bytes=0-1"),
        ("headers.If-None-Match", "*"),
    ],
)
def test_malformed_options_of_the_client_are_refused_even_if_they_have_no_effect(
    name: str, value: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        RemoteSettings.of({name: value})
    assert name.partition(".")[0] in str(caught.value)


def test_an_error_names_the_variable_that_sets_an_option() -> None:
    options = GivenOptions({})
    add_variables(options, variables("aws_"), {"AWS_TIMEOUT": "canary", "TIMEOUT": "1s"})
    with pytest.raises(InvalidInputError, match="environment variable AWS_TIMEOUT") as caught:
        RemoteSettings.of(options)
    assert "canary" not in str(caught.value)


def test_without_options_the_settings_are_those_of_other_clients() -> None:
    settings = RemoteSettings.of({})
    assert settings == RemoteSettings()
    assert (settings.timeout, settings.connect_timeout) == (30.0, 5.0)
    assert (settings.max_retries, settings.retry_timeout, settings.download_retries) == (10, 180, 3)
    assert set(ALIASES.values()) | SECRET_OPTIONS <= OPTIONS


def test_settings_do_not_show_a_proxy() -> None:
    assert "s3cret" not in repr(RemoteSettings.of({"proxy_url": "http://me:s3cret@proxy"}))


def test_a_variable_that_sets_an_option_is_listed_once_and_those_of_the_store_come_first() -> None:
    option = Option("own_url", "An address.", ("url", "own_address"), ("URL", "OWN_URL"))
    assert list(variables_of(option, ("own_",))) == ["URL", "OWN_URL", "OWN_ADDRESS"]
