"""`RestNamespace`: the namespace of a server with the REST interface of lance-namespace."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import lance_namespace as names
from lance_namespace import errors

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.options import Secret, hide_secrets, plain, sounds_secret
from lance_core.hookspecs.stores import is_local_text, parse_uri
from lance_core_namespace.context import DynamicContextProvider, provider_of
from lance_core_namespace.requests import DICTIONARIES, parsed, request_of, shown
from lance_core_namespace.rest_connection import Answer, Connection, is_loopback
from lance_core_namespace.routes import ARROW_STREAM, DELIMITER, JSON, ROUTES, Route

_HEADER, _TLS = "header.", "tls."
_KNOWN = frozenset(
    {
        *("uri", "delimiter", "ops_metrics_enabled", "timeout", "allow_local_locations"),
        *("tls.cert_file", "tls.key_file", "tls.ssl_ca_cert", "tls.assert_hostname"),
    }
)
_CONTEXT = "headers.", "header."
_LOCATED = frozenset({"describe_table", "declare_table", "create_table", "register_table"})


class RestNamespace(names.LanceNamespace):
    """The namespace that the server at ``uri`` has.

    ``properties``: ``header.NAME`` is the HTTP header NAME of each request, such as
    ``header.Authorization``. ``delimiter`` (``$``): joins the parts of names in URLs.
    ``tls.cert_file`` and ``tls.key_file``: the certificate of this client; ``tls.ssl_ca_cert``:
    the authorities of servers; ``tls.assert_hostname`` (true). ``timeout`` (60): seconds for which
    a request may take. ``allow_local_locations`` (false): tables that a server on another machine
    places on the disk of this one are opened. ``ops_metrics_enabled`` (false): calls are counted.
    ``context_provider``: adds headers to each request.

    Operations raise the errors of lance-namespace. Requests that change nothing are sent again
    after a failure of the connection. No representation, log line or error shows headers, and
    pickling drops them, except inside ``carrying_secrets``. Raises `InvalidInputError` without
    ``uri``, and `UnsupportedFeatureError` for other properties.
    """

    def __init__(
        self, context_provider: DynamicContextProvider | None = None, **properties: Any
    ) -> None:
        self._properties: dict[str, Any] = {
            name: Secret(plain(value)) if name.startswith(_HEADER) else value
            for name, value in (hide_secrets(properties) or {}).items()
        }
        properties = {}  # for the frames of errors
        texts = {name: plain(value) for name, value in self._properties.items() if _is_kept(value)}
        texts, self._context = provider_of(texts, context_provider)
        for name in sorted(texts):
            if name not in _KNOWN and not name.startswith(_HEADER):
                raise UnsupportedFeatureError(f"property {name!r} of a namespace is not supported")
        if not texts.get("uri"):
            raise InvalidInputError("a RestNamespace needs the property uri")
        self._delimiter = texts.get("delimiter", DELIMITER)
        if not self._delimiter or "/" in self._delimiter:
            raise InvalidInputError(f"delimiter is {self._delimiter[:20]!r}: a text without slash")
        tls = {
            name.removeprefix(_TLS): value for name, value in texts.items() if name.startswith(_TLS)
        }
        self._connection = Connection(texts["uri"], tls, _seconds(texts.get("timeout", "60")))
        self._headers = {
            name.removeprefix(_HEADER): value
            for name, value in self._properties.items()
            if name.startswith(_HEADER)
        }
        self._allows_local = texts.get("allow_local_locations", "false").lower() == "true"
        is_counted = texts.get("ops_metrics_enabled", "false").lower() == "true"
        self.metrics: Counter[str] | None = Counter() if is_counted else None

    def __reduce__(self) -> tuple[Any, ...]:
        return _connected, (self._properties, self._context)

    def namespace_id(self) -> str:
        """A text that names the server."""
        endpoint = self._connection.endpoint
        return f'RestNamespace {{ endpoint: "{endpoint}", delimiter: "{self._delimiter}" }}'

    def __repr__(self) -> str:
        return f"RestNamespace({self.namespace_id()})"

    def retrieve_ops_metrics(self) -> dict[str, int]:
        """The number of calls by operation; empty unless ``ops_metrics_enabled``."""
        return dict(self.metrics or {})

    def reset_ops_metrics(self) -> None:
        """Count from zero again."""
        if self.metrics is not None:
            self.metrics.clear()

    def _call(self, route: Route, request: Any, data: bytes | None) -> Any:
        """Send a request; returns the model of the response."""
        if self.metrics is not None:
            self.metrics[route.operation] += 1
        is_dictionary = isinstance(request, Mapping) and route.operation in DICTIONARIES
        request = request_of(route, request)
        id_ = list(getattr(request, "id", None) or ())
        joined = self._joined(id_)
        headers = self._headers_of(route, request, joined)
        path = route.path
        if "{id}" in path:
            path = path.replace("{id}", quote(joined, safe=""))
        if "{index_name}" in path:
            path = path.replace("{index_name}", quote(request.index_name or "", safe=""))
        body = _body(route, request, data)
        headers["content-type"] = ARROW_STREAM if route.sends == "rows" else JSON
        target = f"{path}?{urlencode(self._parameters(route, request))}"
        answer = self._connection.send(route, target, body, headers)
        response = _response(route, answer)
        if route.operation in _LOCATED:
            self._check_location(response, id_)
        return response.to_dict() if is_dictionary else response

    def _joined(self, id_: list[str]) -> str:
        for part in id_:
            if not part or self._delimiter in part or part in {".", ".."}:
                raise errors.InvalidInputError(
                    f"{shown([part])} cannot be a part of a name: it is empty, means a folder, or "
                    f"has the delimiter {self._delimiter!r}"
                )
        return self._delimiter.join(id_) or self._delimiter

    def _headers_of(self, route: Route, request: Any, joined: str) -> dict[str, Any]:
        headers: dict[str, Any] = dict(self._headers)
        context = dict(getattr(request, "context", None) or {})
        if self._context is not None:
            info = {"operation": route.operation, "object_id": joined}
            context |= self._context.provide_context(info)
        for name, value in context.items():
            for prefix in _CONTEXT:
                if name.startswith(prefix):
                    headers[name.removeprefix(prefix)] = Secret(value)
        return headers

    def _parameters(self, route: Route, request: Any) -> list[tuple[str, str]]:
        parameters = [("delimiter", self._delimiter)]
        for field in route.query:
            value = getattr(request, field, None)
            if field == "storage_options" and value and any(map(sounds_secret, value)):
                raise errors.InvalidInputError(
                    "storage options with secrets are not sent, since they would be in a URL"
                )
            if value is not None:
                parameters.append((field, _text(value)))
        return parameters

    def _check_location(self, response: Any, id_: list[str]) -> None:
        """Refuse a location on the disk of this machine that another machine names."""
        location = response.location
        if location is None or self._allows_local or is_loopback(self._connection.host):
            return
        if is_local_text(location) or parse_uri(location).scheme in {"file", "memory"}:
            raise errors.PermissionDeniedError(
                f"the server places table {shown(id_)} on the disk of this machine, which is not "
                "allowed: set the property allow_local_locations"
            )


def _operation(route: Route) -> Callable[..., Any]:
    inherited: Any = getattr(names.LanceNamespace, route.operation)

    if route.sends == "rows":

        def send_rows(self: RestNamespace, request: Any, request_data: bytes) -> Any:
            return self._call(route, request, request_data)

        return functools.wraps(inherited)(send_rows)

    def send(self: RestNamespace, request: Any) -> Any:
        return self._call(route, request, None)

    return functools.wraps(inherited)(send)


for _route in ROUTES.values():
    setattr(RestNamespace, _route.operation, _operation(_route))


def _connected(
    properties: dict[str, Any], context_provider: DynamicContextProvider | None
) -> RestNamespace:
    return RestNamespace(context_provider, **properties)


def _is_kept(value: object) -> bool:
    """True unless pickling dropped the value."""
    return not (isinstance(value, Secret) and value.is_missing)


def _body(route: Route, request: Any, data: bytes | None) -> bytes | None:
    if route.sends == "rows":
        return b"" if data is None else data
    if route.sends == "nothing":
        return None
    if route.sends != "json":
        return json.dumps(getattr(request, route.sends) or {}).encode()
    return json.dumps(request.to_dict(), default=str).encode()


def _response(route: Route, answer: Answer) -> Any:
    """The model of an answer; raises ``InternalError`` for one that is not valid."""
    try:
        return _read(route, answer)
    except errors.InvalidInputError as error:
        failure = str(error)
    raise errors.InternalError(f"{answer.server} answers with garbage: {failure}")


def _read(route: Route, answer: Answer) -> Any:
    if route.answers == "text":
        value = answer.json()
        if not isinstance(value, str):
            raise errors.InvalidInputError("a text was expected")
        return value
    model: Any = getattr(names, route.response)
    if route.answers == "nothing":
        return model()
    if route.answers == "rows":
        return model(data=answer.body)
    value = answer.json()
    if route.answers == "count":
        value = {"count": value}
    elif route.answers != "model" and isinstance(value, dict) and route.answers not in value:
        value = {route.answers: value}
    if not isinstance(value, dict):
        raise errors.InvalidInputError("a JSON object was expected")
    return parsed(model, value, f"the response of {route.operation}")


def _text(value: object) -> str:
    """A value as a parameter of a URL."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return json.dumps(value)
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise InvalidInputError(f"timeout is a number of seconds, got {text[:20]!r}")
    return seconds
