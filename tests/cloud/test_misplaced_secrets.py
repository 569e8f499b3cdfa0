"""A secret in the wrong option or environment variable is refused, or used, but never shown.

The options and variables are those of the tables of each store, so new ones are tried as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

import lance_core as lance
import lance_core_azure.options
import lance_core_dynamodb.options
import lance_core_gcs.options
import lance_core_s3.options
from lance_core.errors import InvalidInputError, LanceError
from lance_core.plugins import get_manager
from lance_core.plugins.store_cache import CAPABILITY_OPTIONS, open_store
from lance_core.store.config import StoreConfig
from tests.cloud.surfaces import all_logs, leaks, of_error, of_pickle
from tests.each_case import each_case
from tests.examples import IS_FULL_RUN, share

CORE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw"
PEM = f"-----BEGIN PRIVATE KEY-----\n{CORE}\n-----END PRIVATE KEY-----\n"
KEY = {"type": "service_account", "client_email": "me@example.com", "private_key": PEM}

SECRETS = {
    "JSON": json.dumps(KEY),
    "JSON in lines": json.dumps(KEY, indent=2),
    "PEM": PEM,
    "connection string": f"AccountName=a;AccountKey={CORE}==;EndpointSuffix=core.windows.net",
    "signature": f"?sv=2022-11-02&ss=b&sig={CORE}%3D",
    "URL": f"https://user:{CORE}@host/path",
    "base64": CORE,
    "hexadecimal": CORE.encode().hex(),
    "bearer": f"Bearer {CORE}",
    "JWT": f"eyJhbGciOiJIUzI1NiJ9.{CORE}.{CORE}",
}

TRIES = {
    "client_max_retries": "0",
    "download_retry_count": "0",
    "client_retry_timeout": "50ms",
    "timeout": "100ms",
    "connect_timeout": "100ms",
    "allow_http": "true",
}
AWS = {"aws_access_key_id": "AKIAX", "aws_secret_access_key": "word", "aws_region": "eu"} | TRIES
NOBODY = "127.0.0.1:9"
PLACES: dict[str, tuple[str, dict[str, str]]] = {
    "s3": ("s3://bucket/t", AWS | {"aws_endpoint": f"http://{NOBODY}"}),
    "dynamodb": (
        "memory+ddb://b/t?ddbTableName=rows",
        AWS | {"dynamodb_endpoint": f"http://{NOBODY}"},
    ),
    "gcs": ("gs://bucket/t", {"google_base_url": f"http://{NOBODY}"} | TRIES),
    "azure": ("az://container/t", {"account_name": "a", "endpoint": f"http://{NOBODY}/a"} | TRIES),
    "sql": ("memory+sql://b/t", {"sqlUrl": "sqlite:////nowhere/rows.sqlite"}),
    "lease": ("memory+lease://b/t", {}),
    "http": (f"http://{NOBODY}/t", {}),
    "ftp": (f"ftp://{NOBODY}/t", {}),
    "file": ("/nowhere/t", {}),
    "memory": ("memory://b/t", {}),
}


def options_of(kind: str) -> list[str]:
    """The names of all options of a store or commit handler."""
    manager = get_manager()
    stores = {spec.name: spec for plugin in manager.plugins for spec in plugin.object_stores}
    if kind in stores:
        names = set(stores[kind].options or ())
        table = {"commit_handler", "allow_base_paths", *CAPABILITY_OPTIONS}
        names |= table if kind == "file" else set()
        return sorted(name.replace("*", "X-Mine") for name in names) or ["unknown"]
    if kind == "dynamodb":
        return sorted(set(lance_core_dynamodb.options.NAMES.values()))
    handlers = {spec.name: spec for spec in manager.commit_handlers}
    if kind in handlers:
        return sorted(handlers[kind].options)
    return {
        "http": ["headers", "timeout", "client_kwargs", "proxy", "unknown"],
        "ftp": ["port", "username", "timeout", "unknown"],
    }[kind]


def told(call: Callable[[], object]) -> Iterator[tuple[str, str]]:
    """What an error of ``call`` shows. Any error but one of this project is raised."""
    try:
        call()
    except LanceError as error:
        yield from of_error(error)


@each_case("kind", PLACES)
def test_no_option_gives_a_secret_of_another_option_away(kind: str) -> None:
    uri, common = PLACES[kind]
    found = {}
    with all_logs() as logged:
        for turn, name in enumerate(options_of(kind)):
            for form in share(list(SECRETS), 10, turn):
                options = {**common, name: SECRETS[form]}
                config = StoreConfig(uri, options)
                shown = [("repr", repr(config)), *of_pickle(config)]
                # Many are refused before a request; a share of the others is sent.
                is_sent = turn % 4 == 0 or IS_FULL_RUN
                call = partial(
                    lance.dataset if is_sent else open_store, uri, storage_options=options
                )
                shown += told(call)
                if where := leaks(CORE, shown):
                    found[name, form] = where
    found |= {(text[:80], ""): ["log"] for text in logged if leaks(CORE, [("log", text)])}
    assert found == {}


OF_SDKS = {
    "s3": "AWS_PROFILE AWS_DEFAULT_PROFILE AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE "
    "AWS_CA_BUNDLE AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN AWS_ROLE_SESSION_NAME "
    "AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_MAX_ATTEMPTS "
    "AWS_RETRY_MODE AWS_DATA_PATH AWS_EC2_METADATA_SERVICE_ENDPOINT AWS_USE_FIPS_ENDPOINT "
    "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_TOKEN HTTP_PROXY NO_PROXY "
    "REQUESTS_CA_BUNDLE SSL_CERT_FILE",
    "dynamodb": "AWS_PROFILE AWS_REGION AWS_CA_BUNDLE AWS_MAX_ATTEMPTS HTTP_PROXY",
    "gcs": "GOOGLE_CLOUD_PROJECT HTTP_PROXY NO_PROXY SSL_CERT_FILE GCE_METADATA_HOST",
    "azure": "AZURITE_BLOB_STORAGE_URL HTTP_PROXY SSL_CERT_FILE REQUESTS_CA_BUNDLE "
    "AZURE_CLIENT_CERTIFICATE_PATH AZURE_USERNAME AZURE_PASSWORD IDENTITY_HEADER MSI_SECRET",
    "file": "LANCE_CORE_DURABILITY LANCE_CORE_ALLOW_BASE_PATHS",
}
"""The variables that SDKs and the core read themselves."""

TABLES: dict[str, Iterable[Iterable[str]]] = {
    "s3": lance_core_s3.options.VARIABLES.values(),
    "dynamodb": lance_core_dynamodb.options.VARIABLES.values(),
    "gcs": lance_core_gcs.options.VARIABLES.values(),
    "azure": lance_core_azure.options.VARIABLES.values(),
    "file": (),
}


def without(options: dict[str, str], variable: str) -> dict[str, str]:
    """``options`` without the one that ``variable`` sets, so that it counts."""
    word = variable.lower()
    plain = {name: name.removeprefix("aws_").removeprefix("google_") for name in options}
    return {name: value for name, value in options.items() if not word.endswith(plain[name])}


@each_case("kind", TABLES)
def test_no_environment_variable_gives_a_secret_away(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, common = PLACES[kind]
    if kind == "azure":  # a key, so that no login is searched, which takes a while
        common = common | {"account_key": "a2V5"}
    variables = {name for names in TABLES[kind] for name in names} | set(OF_SDKS[kind].split())
    found = {}
    with all_logs() as logged:
        for turn, variable in enumerate(sorted(variables)):
            if kind in {"s3", "azure"} and turn % 2 and not IS_FULL_RUN:
                continue  # opening a client of the SDK takes a while
            options = without(common, variable)
            for form in share(list(SECRETS), 10, turn):
                other = uri.replace("/t", f"/t{turn}", 1)  # a store that no cache has
                with monkeypatch.context() as patch:
                    patch.setenv(variable, SECRETS[form])
                    shown = told(partial(lance.dataset, other, storage_options=options))
                    if where := leaks(CORE, list(shown)):
                        found[variable, form] = where
    found |= {(text[:80], ""): ["log"] for text in logged if leaks(CORE, [("log", text)])}
    assert found == {}


@each_case(
    ("uri", "option", "expected"),
    [
        ("gs://bucket/t", "google_service_account", "must be the path of a file"),
        ("gs://bucket/t", "google_application_credentials", "must be the path of a file"),
        ("gs://bucket/t", "timeout", "must be a duration"),
        ("s3://bucket/t", "aws_region", "must be a name"),
        ("s3://bucket/t", "aws_web_identity_token_file", "must be the path of a file"),
        ("s3://bucket/t", "allow_http", "must be 'true' or 'false'"),
        ("az://container/t", "tenant_id", "must be an identifier"),
        ("az://container/t", "endpoint", "must be an address"),
    ],
)
def test_a_misplaced_key_is_refused_with_what_is_expected(
    uri: str, option: str, expected: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        lance.dataset(uri, storage_options={option: SECRETS["JSON"]})
    assert f"{option!r} {expected}" in str(caught.value)
    assert CORE not in str(caught.value)


def test_a_key_in_the_variable_for_its_file_is_named_by_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", SECRETS["JSON"])
    with pytest.raises(InvalidInputError) as caught:
        lance.dataset("gs://bucket/t")
    text = "environment variable GOOGLE_APPLICATION_CREDENTIALS must be the path of a file"
    assert text in str(caught.value)
    assert leaks(CORE, of_error(caught.value)) == []


def test_a_file_that_is_missing_is_named_by_its_option_and_one_that_exists_by_its_path(
    tmp_path: Path,
) -> None:
    file = tmp_path / "key.json"
    with pytest.raises(InvalidInputError, match="that storage option 'google_service_account'"):
        lance.dataset("gs://bucket/t", storage_options={"google_service_account": file})  # type: ignore[dict-item]
    file.write_text("[]")
    with pytest.raises(InvalidInputError, match=r"key\.json' is not a JSON object"):
        lance.dataset("gs://bucket/t", storage_options={"google_service_account": file})  # type: ignore[dict-item]
