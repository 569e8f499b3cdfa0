"""Requests of namespaces: from what callers give to checked models, and from errors to errors."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import lance_namespace as names
from lance_namespace import errors
from pydantic import ValidationError

from lance_core import errors as core_errors
from lance_core.errors import LanceError
from lance_core.hookspecs.options import shortened
from lance_core_namespace.routes import DELIMITER, ROUTES, Route

Function = TypeVar("Function", bound=Callable[..., Any])

MAX_NAME = 255
"""Maximum bytes of a part of a name: names of folders on most file systems are not longer."""

MAX_DEPTH = 64
"""Maximum parts of a name."""

DICTIONARIES = frozenset(
    {"create_table_version", "describe_table_version", "batch_delete_table_versions"}
)
"""Operations that return a dictionary if the request is one, as pylance's do."""


def operation(function: Function) -> Function:
    """A method of a namespace, whose name is that of an operation.

    It gets its request as a model, also from callers that give a dictionary, such as pylance.
    Errors of lance-core leave it as errors of lance-namespace, with the error as their cause.
    """
    route = ROUTES[function.__name__]

    @functools.wraps(function)
    def call(self: Any, request: Any, *data: Any) -> Any:
        model = request_of(route, request)
        metrics = getattr(self, "metrics", None)
        if metrics is not None:
            metrics[route.operation] += 1
        with named_errors(getattr(model, "id", None) or ()):
            response = function(self, model, *data)
        if route.operation in DICTIONARIES and isinstance(request, Mapping):
            return response.to_dict()
        return response

    return call  # type: ignore[return-value]  # a wrapper of the same signature


def request_of(route: Route, request: Any) -> Any:
    """The model of a request; raises ``InvalidInputError`` for fields that are not valid."""
    model: Any = getattr(names, route.request)
    if isinstance(request, model):
        return request
    if not isinstance(request, Mapping):
        request = request.model_dump() if hasattr(request, "model_dump") else None
    if request is None:
        raise errors.InvalidInputError(f"the request of {route.operation} is not a request")
    return parsed(model, dict(request), f"the request of {route.operation}")


def parsed(model: Any, value: Any, what: str) -> Any:
    """``value`` as a model; raises ``InvalidInputError``, which shows no values."""
    try:
        made = model.from_dict(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or model.__name__
        text = f"{what} is not valid: {field}: {first['msg']}"
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        text = f"{what} is not valid: {type(error).__name__}"
    else:
        if made is not None:
            return made
        text = f"{what} is empty"
    raise errors.InvalidInputError(text)


def id_of(request: Any, what: str = "table") -> tuple[str, ...]:
    """The name in a request; raises ``InvalidInputError`` of lance-namespace for an invalid one.

    Parts are neither empty nor ``.`` or ``..``, and have no slash, backslash, delimiter or control
    character, so that a name is never a path.
    """
    id_ = tuple(request.id or ())
    if not id_:
        raise errors.InvalidInputError(f"the name of the {what} is empty")
    if len(id_) > MAX_DEPTH:
        raise errors.InvalidInputError(f"a name has at most {MAX_DEPTH} parts, this has {len(id_)}")
    for part in id_:
        reason = _objection(part)
        if reason is not None:
            raise errors.InvalidInputError(
                f"{shortened(part)} cannot be a part of the name of a {what}: {reason}"
            )
    return id_


def _objection(part: str) -> str | None:
    if not part:
        return "it is empty"
    if part in {".", ".."}:
        return "it means a folder"
    for character, called in (("/", "a slash"), ("\\", "a backslash"), (DELIMITER, "a '$'")):
        if character in part:
            return f"it has {called}"
    if not part.isprintable():
        return "it has characters that cannot be printed"
    if len(part.encode()) > MAX_NAME:
        return f"it has {len(part.encode())} bytes, more than {MAX_NAME}"
    return None


def below_root(location: str) -> str:
    """``location``; raises ``InvalidInputError`` of lance-namespace if it is not below the root."""
    reason = None
    if "://" in location:
        reason = "Absolute URIs are not allowed"
    elif location.startswith(("/", "\\")):
        reason = "Absolute paths are not allowed"
    elif ".." in location.split("/"):
        reason = "Path traversal is not allowed"
    elif not location.isprintable() or not {"", "."}.isdisjoint(location.split("/")):
        reason = "Such paths are not allowed"
    if reason is not None or "\\" in location:
        raise errors.InvalidInputError(
            f"{reason or 'Backslashes are not allowed'}: a location is a path below the root, got "
            f"{shortened(location)}"
        )
    return location


def shown(id_: Sequence[str]) -> str:
    """A name for messages."""
    return shortened(DELIMITER.join(id_))


def page_of(all_names: Sequence[str], request: Any) -> tuple[list[str], str | None]:
    """The names of a page in ascending order, and the token of the next one."""
    if request.limit is not None and request.limit < 0:
        raise errors.InvalidInputError(f"limit is negative: {request.limit}")
    rest = sorted(name for name in all_names if not request.page_token or name > request.page_token)
    if request.limit is None or len(rest) <= request.limit:
        return rest, None
    page = rest[: request.limit]
    return page, page[-1] if page else None


_ERRORS: tuple[tuple[type[LanceError], type[Exception]], ...] = (
    (core_errors.ColumnNotFoundError, errors.TableColumnNotFoundError),
    (core_errors.IndexNotFoundError, errors.TableIndexNotFoundError),
    (core_errors.IndexNameError, errors.TableIndexAlreadyExistsError),
    (core_errors.SchemaMismatchError, errors.TableSchemaValidationError),
    (core_errors.InvalidInputError, errors.InvalidInputError),
    (core_errors.RefConflictError, errors.TableTagAlreadyExistsError),
    (core_errors.RefNotFoundError, errors.TableTagNotFoundError),
    (core_errors.NotFoundError, errors.TableNotFoundError),
    (core_errors.DatasetExistsError, errors.TableAlreadyExistsError),
    (core_errors.ExistsError, errors.ConcurrentModificationError),
    (core_errors.CommitConflictError, errors.ConcurrentModificationError),
    (core_errors.UnsupportedFeatureError, errors.UnsupportedOperationError),
    (core_errors.PluginNotFoundError, errors.UnsupportedOperationError),
    (core_errors.BasePathRefusedError, errors.PermissionDeniedError),
    (core_errors.CorruptFileError, errors.InvalidTableStateError),
    (core_errors.StoreError, errors.ServiceUnavailableError),
    (core_errors.LanceError, errors.InternalError),
)


@contextlib.contextmanager
def named_errors(id_: Sequence[str]) -> Iterator[None]:
    """Within the block, errors of lance-core become those of lance-namespace."""
    try:
        yield
    except errors.LanceNamespaceError:
        raise
    except LanceError as error:
        named = next(named for known, named in _ERRORS if isinstance(error, known))
        text = f"{DELIMITER.join(id_)}: {error}" if id_ else str(error)
        raise named(text) from error


def texts_of(value: str | None, what: str) -> dict[str, str] | None:
    """A dictionary of texts from its JSON; raises ``InvalidInputError`` for anything else."""
    if not value:
        return None
    try:
        read = json.loads(value)
    except ValueError:
        read = None
    if not isinstance(read, dict) or not all(isinstance(part, str) for part in read.values()):
        raise errors.InvalidInputError(f"{what} is not a JSON object of texts")
    return read
