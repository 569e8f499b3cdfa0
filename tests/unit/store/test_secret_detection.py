"""Texts that are probably secrets are recognized, and known ones are removed from messages."""

from __future__ import annotations

import json
import time

from lance_core.store.secret_detection import (
    has_password,
    looks_random,
    looks_secret,
    redacted,
    secret_kind,
    secrets_of_environment,
    shown_path,
    without_queries,
)
from lance_core_remote.connection_failures import shown
from tests.each_case import each_case

PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n"


@each_case(
    "text",
    [
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "canary8f1eQ3zT7c9Kd2",
        "d41d8cd98f00b204e9800998ecf8427e",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5;",
        "?sv=2022-11-02&sig=abc%3D",
        "http://me:pw@proxy:3128",
        json.dumps({"type": "service_account", "private_key": "x"}),
        json.dumps([{"refresh_token": "x"}]),
        '{"private_key": "cut off',
        PEM,
        "AWS_SECRET_ACCESS_KEY=abc",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        "Bearer abcdefghijklmnop",
        "Abc8Q~xyz-12dfGh.Kl45mnOPqr",
    ],
)
def test_what_is_a_secret_looks_like_one(text: str) -> None:
    assert looks_secret(text)
    assert looks_secret(f' "{text}"\n')


@each_case(
    "text",
    [
        *("", "us-east-1", "true", "1m 30s", "30", "a,b,*.example.com,10.0.0.0/8"),
        *("MyProfile2-Production-Team1", "AdministratorAccess-123456789012"),
        "/data/JohnDoe2/Projects/LanceDB9/creds",
        "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
        "arn:aws:iam::123456789012:role/MyRole2",
        "http://127.0.0.1:9000",
        "5f3a1c2e-1234-4abc-9def-0123456789ab",
        "mrk-1234abcd12ab34cd56ef1234567890ab",
        "postgresql://user@host/database",
        '{"timeout": 5}',
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0B\n-----END",
        "abfss://container@account.dfs.core.windows.net/path",
        "12345678901234567890123456789012",
    ],
)
def test_what_people_name_and_write_does_not(text: str) -> None:
    assert not looks_secret(text)


def test_a_secret_is_removed_however_a_message_shows_it() -> None:
    key = json.dumps({"private_key": PEM, "client_email": "me@example.com"})
    for text in (f"cannot open {key!r}", f"line 2: {PEM.splitlines()[1]}", repr([key]), f"{PEM}"):
        assert "MIIEvQIBADANBg" not in redacted(text, [key])
    assert redacted("GET /a%2Fb%3D", ["a/b="]) == "GET /***"


@each_case("secret", ["a", "an", "the", " ", ""])
def test_short_secrets_do_not_mangle_messages(secret: str) -> None:
    text = "the signature of an access key is not that of the bucket a"
    assert redacted(text, [secret]) == text


def test_short_secrets_are_removed_where_they_stand_alone() -> None:
    assert redacted("key 'abc' of abc:abc@host, secret=abc&x", ["abc"]) == (
        "key '***' of abc:***@host, secret=***&x"
    )


def test_secrets_of_the_environment_are_those_by_look_and_by_name() -> None:
    variables = {"FOLDER": "/data/me", "AWS_PROFILE": PEM, "MY_PASSWORD": "correct horse", "X": "y"}
    assert secrets_of_environment({**variables, "TOKEN_FILE": "/a/b/token"}) == [
        PEM,
        "correct horse",
    ]


def test_paths_are_shown_and_keys_in_their_place_are_not() -> None:
    assert shown_path("/etc/keys/key.json") == "'/etc/keys/key.json'"
    for key in (PEM, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "a\nb"):
        assert key not in shown_path(key)


def test_queries_are_removed_from_urls() -> None:
    text = "GET https://h/p?sig=a&b=c 'https://h/p?x' failed?"
    assert without_queries(text) == "GET https://h/p?*** 'https://h/p?x' failed?"


@each_case(
    "part",
    [
        *("://:", "://a:", "a:", "://", "@", "a@b:", "://a:b ", "sig=", "= ", ";", "?", "?="),
        *("{", "[[", '"', '{"token":', "\\", "eyJ", "aB1", "PRIVATE KEY", "+/", "a.", "\n"),
    ],
)
def test_hostile_texts_cost_linear_time(part: str) -> None:
    text = part * (400_000 // len(part))
    start = time.process_time()
    for judge in (secret_kind, looks_random, has_password, without_queries, shown):
        judge(text)  # type: ignore[operator]
    redacted(text, [part * 10, part])
    # Quadratic time would be minutes.
    assert time.process_time() - start < 5.0
