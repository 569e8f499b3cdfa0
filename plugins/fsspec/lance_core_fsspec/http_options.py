"""Options of tables on web servers; URLs of a bucket of a cloud are distinguished from them.

fsspec passes options that its HTTP file system does not define to each request of aiohttp, which
raises a `TypeError` for names that it does not know, at the first request.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from lance_core.errors import InvalidInputError
from lance_core.hookspecs import StoreUrl
from lance_core.hookspecs.options import hint, shortened

_TYPES: Mapping[str, tuple[type, ...]] = {
    "headers": (dict,),
    "cookies": (dict,),
    "client_kwargs": (dict,),
    "timeout": (int, float),
    "ssl": (bool,),
    "allow_redirects": (bool,),
    "max_redirects": (int,),
    "block_size": (int,),
}
"""The types of arguments that users set."""

_OF_CLOUDS = {
    "aws_": "s3://bucket/path",
    "azure_": "az://container/path",
    "google_": "gs://bucket/path",
    **dict.fromkeys(("account_name", "account_key", "sas_token"), "az://container/path"),
    **dict.fromkeys(("access_key_id", "secret_access_key"), "s3://bucket/path"),
    "service_account": "gs://bucket/path",
}
"""Beginnings of option names of the clouds' stores, with the form of their URLs."""


def check_http_options(url: StoreUrl, arguments: Mapping[str, object], file_system: Any) -> None:
    """Raise `InvalidInputError` for an option that no request takes; names the right URL."""
    known = _request_arguments() | _parameters(file_system.__init__) | {"skip_instance_cache"}
    for name, value in arguments.items():
        if name not in known:
            raise InvalidInputError(
                f"{url.scheme}:// URLs are read from a web server, whose requests have no option "
                f"{shortened(name)}{_advice(url, name, known)}"
            )
        expected = _TYPES.get(name)
        if expected and not isinstance(value, expected):
            expectation = "an object in JSON" if dict in expected else "true or false"
            expectation = "a number" if int in expected else expectation
            raise InvalidInputError(
                f"storage option {name!r} of {url.scheme}:// must be {expectation}"
            )


def _advice(url: StoreUrl, name: str, known: set[str]) -> str:
    table = _cloud_url(url)
    if table is None:
        form = next((form for start, form in _OF_CLOUDS.items() if name.startswith(start)), None)
        if form is None:
            return hint(name, known)
        return f": for a table in that store, write {form}"
    return f": for this table, write {table}"


def _cloud_url(url: StoreUrl) -> str | None:
    """The URL of the cloud's own store, if the host of ``url`` is that of a cloud."""
    host = url.netloc.rpartition("@")[2].partition(":")[0].lower()
    container, _, path = url.path.partition("/")
    if host.endswith((".blob.core.windows.net", ".dfs.core.windows.net")):
        account = host.partition(".")[0]
        return f"az://{container}/{path} with storage option account_name={account!r}"
    if host in {"storage.googleapis.com", "storage.cloud.google.com"}:
        return f"gs://{container}/{path}"
    if host.endswith(".amazonaws.com"):
        bucket, mark, _ = host.partition(".s3")
        return f"s3://{bucket}/{url.path}" if mark else f"s3://{container}/{path}"
    if host.endswith(".r2.cloudflarestorage.com"):
        return f"s3://{container}/{path} with storage option aws_endpoint='https://{host}'"
    return None


def _request_arguments() -> set[str]:
    from aiohttp import ClientSession

    return _parameters(ClientSession._request) - {"method", "str_or_url"}  # noqa: SLF001 (types)


def _parameters(function: object) -> set[str]:
    variadic = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
    parameters = signature(function).parameters  # type: ignore[arg-type]  # a function
    return {name for name, p in parameters.items() if p.kind not in variadic} - {"self"}
