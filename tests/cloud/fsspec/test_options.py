"""What users say of a file system: arguments, secrets, and what cannot be meant."""

from __future__ import annotations

import json
import logging
import pickle
import sys
import traceback
from collections.abc import Mapping

import pytest

from lance_core.errors import (
    InvalidInputError,
    LanceError,
    PluginNotFoundError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.plugins.known_plugins import EXTRA_OF_SCHEME
from lance_core.plugins.store_cache import open_store
from lance_core.store.secret import Secret, wrap_secrets
from lance_core_fsspec.options import arguments_of, secrets_of
from lance_core_fsspec.plugin import SCHEMES
from tests.each_case import each_case

CANARY = "canary-7f3a"


@each_case(
    ("given", "meant"),
    [
        ("reader", "reader"),
        ("22", 22),
        ('"22"', "22"),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ("", ""),
        ("NaN", "NaN"),
        ("[1, 2]", [1, 2]),
        ('{"endpoint_url": "http://127.0.0.1"}', {"endpoint_url": "http://127.0.0.1"}),
        ("{not json", "{not json"),
        ("[" * 100_000, "[" * 100_000),
    ],
    ids=lambda value: str(value)[:20],
)
def test_text_that_is_json_means_its_value(given: str, meant: object) -> None:
    assert arguments_of({"argument": given}) == {"argument": meant}


@each_case("secret", ["123456", "true", "[1]", "null"])
def test_a_secret_is_text_whatever_it_looks_like(secret: str) -> None:
    assert arguments_of(wrap_secrets({"password": secret})) == {"password": secret}


def test_a_secret_may_be_a_json_object() -> None:
    options = {"client_kwargs": Secret('{"aws_secret_access_key": "canary-7f3a", "n": [1]}')}
    meant = {"aws_secret_access_key": CANARY, "n": [1]}
    assert arguments_of(options) == {"client_kwargs": meant}
    assert CANARY in secrets_of(options)


@each_case(
    "given",
    ['{"aws_secret_access_key": "canary-7f3a"}', '[{"a": {"password": "canary-7f3a"}}]'],
)
def test_json_that_contains_a_secret_is_a_secret_as_a_whole(given: str) -> None:
    options = wrap_secrets({"client_kwargs": given})
    assert CANARY not in repr(options)
    assert CANARY in secrets_of(options)
    assert arguments_of(options) == {"client_kwargs": json.loads(given)}


Refused = tuple[str, Mapping[str, str], type[LanceError], str]
REFUSED: dict[str, Refused] = {
    "a chain": ("zip://a::ftp", {}, UnsupportedFeatureError, "register_file_system"),
    "a missing argument": ("smb://", {}, LanceError, "smb"),
    "an unknown argument": ("ftp://127.0.0.1:1/t", {"port": "{}"}, LanceError, "ftp://127"),
    "no package": ("wandb://a/b", {}, PluginNotFoundError, "wandbfs"),
    "no implementation": ("cosn://bucket/t", {}, PluginNotFoundError, "'cosn'"),
    "nobody answers": ("ftp://127.0.0.1:1/t", {}, StoreError, "refused"),
    "no such archive": ("zip://t", {"fo": "/no/such/archive.zip"}, StoreError, "No such file"),
    "nothing of the name": ("fsspec://nobody/t", {}, InvalidInputError, "register_file_system"),
}


@each_case("case", REFUSED)
def test_what_cannot_be_opened_is_one_typed_error(case: str) -> None:
    url, options, kind, telling = REFUSED[case]
    with pytest.raises(kind) as caught:
        open_store(url, options)
    assert telling in str(caught.value)


def test_schemes_that_errors_point_here_for_are_served() -> None:
    assert {scheme for scheme, extra in EXTRA_OF_SCHEME.items() if extra == "fsspec"} <= {*SCHEMES}


def test_the_entry_module_imports_no_file_system() -> None:
    import subprocess

    code = "import sys, lance_core_fsspec.plugin; print('fsspec' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("ftp://127.0.0.1:1/table", {"username": "reader", "password": CANARY}),
        (f"ftp://reader:{CANARY}@127.0.0.1:1/table", {}),
        (f"http://reader:{CANARY}@127.0.0.1:1/table", {}),
    ],
)
def test_no_secret_is_shown(
    url: str, options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    shown = []
    with caplog.at_level(logging.DEBUG):
        try:
            store = open_store(url, options)
            shown += [repr(store), str(store)]
            store.get("object")
        except LanceError as error:
            shown += [str(error), repr(error), "".join(traceback.format_exception(error))]
            shown += [repr(error.__cause__), repr(error.__context__), repr(pickle.dumps(error))]
    shown += [record.getMessage() for record in caplog.records]
    assert len(shown) > 2
    assert CANARY not in "".join(shown)
