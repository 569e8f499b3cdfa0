"""Secrets are shown to nobody who does not ask, and do not travel by accident."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import threading

import pytest

from lance_core.errors import InvalidInputError
from lance_core.store.secret import Secret, carrying_secrets, plain, wrap_secrets
from tests.each_case import each_case

VALUE = "hunter2-canary"


def test_only_reveal_shows_the_value() -> None:
    secret = Secret(VALUE)
    shown = f"{secret} {secret!r} {secret!s} {secret:>20} {[secret]}" + "{}".format(secret)  # noqa: UP032
    assert VALUE not in shown
    assert secret.reveal() == VALUE
    assert plain(secret) == plain(VALUE) == VALUE


def test_a_secret_is_no_text() -> None:
    secret = Secret(VALUE)
    with pytest.raises(TypeError):
        json.dumps({"key": secret})
    with pytest.raises(TypeError):
        list(secret)
    with pytest.raises(TypeError):
        "".join([secret])  # type: ignore[list-item]
    assert not hasattr(secret, "__dict__")


def test_a_log_record_does_not_show_it(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("x").warning("options %s %r", {"a": Secret(VALUE)}, Secret(VALUE))
    assert VALUE not in caplog.text


def test_secrets_compare_by_value() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
    assert bool(Secret("a"))
    assert not Secret("")


@each_case("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_drops_the_value(protocol: int) -> None:
    data = pickle.dumps({"options": [Secret(VALUE)]}, protocol)
    assert VALUE.encode() not in data
    (secret,) = pickle.loads(data)["options"]
    assert secret.is_missing
    assert secret == Secret.missing()
    with pytest.raises(InvalidInputError, match="was dropped when"):
        secret.reveal()


def test_pickling_keeps_the_value_if_asked_to() -> None:
    with carrying_secrets():
        data = pickle.dumps(Secret(VALUE))
        missing = pickle.dumps(Secret.missing())
    assert pickle.loads(data).reveal() == VALUE
    assert pickle.loads(missing).is_missing
    assert VALUE.encode() not in pickle.dumps(Secret(VALUE))


def test_asking_is_a_matter_of_one_thread_and_block() -> None:
    other: list[bytes] = []
    with carrying_secrets():
        thread = threading.Thread(target=lambda: other.append(pickle.dumps(Secret(VALUE))))
        thread.start()
        thread.join()
    assert VALUE.encode() not in other[0]
    with pytest.raises(KeyError), carrying_secrets():
        raise KeyError
    assert VALUE.encode() not in pickle.dumps(Secret(VALUE))


def test_a_copy_keeps_the_value() -> None:
    options = {"key": Secret(VALUE)}
    assert copy.deepcopy(options)["key"].reveal() == copy.copy(options["key"]).reveal() == VALUE


def test_a_secret_is_text_inside() -> None:
    with pytest.raises(InvalidInputError):
        Secret(3)  # type: ignore[arg-type]


@each_case(
    "name",
    [
        "aws_secret_access_key",
        "AWS_SESSION_TOKEN",
        "account_key",
        "azure_storage_sas_token",
        "password",
        "api-key",
        "client.secret",
        "service_account_private_key",
        "declared",
        "DECLARED",
    ],
)
def test_options_that_are_or_sound_secret_are_wrapped(name: str) -> None:
    assert wrap_secrets({name: VALUE}, ["Declared"]) == {name: Secret(VALUE)}


def test_other_options_are_left_as_they_are() -> None:
    options = {"aws_region": "eu", "endpoint": "http://x", "partition_key": "p", "x": Secret("y")}
    assert wrap_secrets(options) == options


@each_case(
    ("url", "is_secret"),
    [
        ("http://me:pw@proxy:3128", True),
        ("postgresql+psycopg://me:p/w?@db/lance", True),
        ("ftp://:pw@host", True),
        ("http://me@proxy:3128", False),
        ("http://proxy:3128/a@b", True),  # who knows where a password ends
        ("me:pw@host", False),
    ],
)
def test_a_url_with_a_password_is_secret_under_any_name(url: str, is_secret: bool) -> None:
    assert wrap_secrets({"proxy_url": url}) == {"proxy_url": Secret(url) if is_secret else url}
