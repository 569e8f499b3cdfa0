"""`RestAdapter`: any namespace as a server with the REST interface of lance-namespace."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import lance_namespace as names
from lance_namespace import errors

from lance_core.errors import InvalidInputError
from lance_core_namespace.connecting import connect
from lance_core_namespace.requests import parsed, texts_of
from lance_core_namespace.routes import ARROW_FILE, DELIMITER, JSON, ROUTES, Route

DEFAULT_PORT = 2333
MAX_REQUEST = 1 << 30
"""Maximum bytes of a request."""

_MAX_DISCARDED = 1 << 20
_LOG = logging.getLogger("lance_core")

_STATUS: dict[type[Exception], int] = {
    errors.UnsupportedOperationError: 406,
    errors.NamespaceNotFoundError: 404,
    errors.TableNotFoundError: 404,
    errors.TableIndexNotFoundError: 404,
    errors.TableTagNotFoundError: 404,
    errors.TransactionNotFoundError: 404,
    errors.TableVersionNotFoundError: 404,
    errors.TableColumnNotFoundError: 404,
    errors.TableBranchNotFoundError: 404,
    errors.NamespaceAlreadyExistsError: 409,
    errors.NamespaceNotEmptyError: 409,
    errors.TableAlreadyExistsError: 409,
    errors.TableIndexAlreadyExistsError: 409,
    errors.TableTagAlreadyExistsError: 409,
    errors.TableBranchAlreadyExistsError: 409,
    errors.ConcurrentModificationError: 409,
    errors.InvalidTableStateError: 409,
    errors.InvalidInputError: 400,
    errors.TableSchemaValidationError: 400,
    errors.PermissionDeniedError: 403,
    errors.UnauthenticatedError: 401,
    errors.ThrottlingError: 429,
    errors.ServiceUnavailableError: 503,
}

_PATTERNS = [
    (re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(route.path))), route)
    for route in ROUTES.values()
]


class RestAdapter:
    """A server of the namespace ``namespace_client_impl``: for tests, and for trying.

    ``namespace_client_impl``: a name for `connect`, or a namespace; its properties are
    ``namespace_client_properties``. It listens at ``host`` ("127.0.0.1") and ``port`` (2333; 0: any
    that is free), and knows no users: whoever reaches it may do everything.
    """

    def __init__(
        self,
        namespace_client_impl: str | names.LanceNamespace,
        namespace_client_properties: Mapping[str, str] | None = None,
        session: object = None,
        host: str | None = None,
        port: int | None = None,
    ) -> None:
        namespace = namespace_client_impl
        if isinstance(namespace, str):
            namespace = connect(namespace, namespace_client_properties)
        self.namespace = namespace
        self.host = host
        self.namespace_client_impl = namespace_client_impl
        self._address = host or "127.0.0.1", DEFAULT_PORT if port is None else port
        self._server: ThreadingHTTPServer | None = None

    @property
    def port(self) -> int:
        """The port on which the server listens, 0 before `start`."""
        return 0 if self._server is None else self._server.server_port

    def start(self) -> None:
        """Answer in the background; raises `InvalidInputError` if the port cannot be used."""
        if self._server is not None:
            return
        try:
            server = _Server(self._address, _Handler)
        except (OSError, OverflowError) as error:
            raise InvalidInputError(f"no server can listen at {self._address}: {error}") from error
        server.adapter = self
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._server = server

    def stop(self) -> None:
        """End the server; does nothing if it does not run."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, route: Route, values: Mapping[str, str], body: bytes) -> tuple[str, bytes]:
        """The type and the body of the answer to a request; raises the errors of the namespace.

        ``values``: the parts of the URL's path and its parameters.
        """
        request = _request(route, values, body)
        call = getattr(self.namespace, route.operation)
        response = call(request, body) if route.sends == "rows" else call(request)
        return _answer(route, response)

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise ``UnauthenticatedError`` if a request may not be answered; a subclass may."""

    def __enter__(self) -> RestAdapter:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"RestAdapter(host={self.host!r}, port={self.port})"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    adapter: RestAdapter


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    server: _Server

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: URLs contain what callers send."""

    def _respond(self) -> None:
        status, media_type = 200, JSON
        try:
            body = self._body()
            self.server.adapter.check(dict(self.headers))
            route, values = self._route()
            media_type, data = self.server.adapter.answer(route, values, body)
        except errors.LanceNamespaceError as error:
            status, data = _status(error), _error(error.code, str(error))
        except Exception as error:
            _LOG.warning("a request of a namespace failed (%s)", type(error).__name__)
            text = f"the namespace failed ({type(error).__name__})"
            status, data = 500, _error(errors.ErrorCode.INTERNAL, text)
        self.send_response(status)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> bytes:
        text = self.headers.get("content-length") or "0"
        if not text.isdigit() or int(text) > MAX_REQUEST or "transfer-encoding" in self.headers:
            self.close_connection = True
            raise errors.InvalidInputError(f"a request has at most {MAX_REQUEST} bytes")
        return self.rfile.read(int(text))

    def _route(self) -> tuple[Route, dict[str, str]]:
        parts = urlsplit(self.path)
        values = dict(parse_qsl(parts.query, keep_blank_values=True))
        for pattern, route in _PATTERNS:
            match = pattern.fullmatch(parts.path)
            if match is not None and route.method == self.command:
                named = {name: unquote(text) for name, text in match.groupdict().items()}
                return route, {**values, **named}
        raise errors.UnsupportedOperationError(f"there is no operation at {parts.path[:200]!r}")


def _request(route: Route, values: Mapping[str, str], body: bytes) -> Any:
    """The request that a URL and a body mean; raises ``InvalidInputError``."""
    fields: dict[str, Any] = {}
    if body and route.sends in {"json", "metadata"}:
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            raise errors.InvalidInputError("the body of the request is not JSON") from None
        if not isinstance(fields, dict):
            raise errors.InvalidInputError("the body of the request is not a JSON object")
    if route.sends == "metadata":
        fields = {"metadata": fields}
    model: Any = getattr(names, route.request)
    for name in route.query:
        if name in values:
            fields[name] = _value(model, name, values[name])
    if "id" in values:
        delimiter = values.get("delimiter") or DELIMITER
        id_ = [] if values["id"] == delimiter else values["id"].split(delimiter)
        if fields.get("id") not in (None, id_):
            raise errors.InvalidInputError("the name in the URL is not that in the body")
        fields["id"] = id_
    if "index_name" in values:
        fields["index_name"] = values["index_name"]
    return parsed(model, fields, f"the request of {route.operation}")


def _value(model: Any, name: str, text: str) -> Any:
    """A parameter of a URL with the type that the model has for it."""
    annotation = str(model.model_fields[name].annotation)
    if "Dict[" in annotation:
        return texts_of(text, name)
    if "List[" in annotation:
        return text.split(",")
    if "bool" in annotation and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if "int" in annotation and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    return text


def _answer(route: Route, response: Any) -> tuple[str, bytes]:
    if route.answers == "nothing":
        return JSON, b"{}"
    if route.answers == "rows":
        return ARROW_FILE, bytes(response.data)
    if route.answers == "text":
        value: Any = response
    elif route.answers == "count":
        value = response.count
    elif route.answers == "model":
        value = response if isinstance(response, dict) else response.to_dict()
    else:
        value = getattr(response, route.answers) or {}
    return JSON, json.dumps(value, default=_plain).encode()


def _plain(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _status(error: Exception) -> int:
    return next((_STATUS[base] for base in type(error).__mro__ if base in _STATUS), 500)


def _error(code: int, text: str) -> bytes:
    return json.dumps({"error": text, "code": int(code)}).encode()
