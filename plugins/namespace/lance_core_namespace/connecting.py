"""`connect`: a namespace by the name that a plugin gives it, or by the path of its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lance_namespace as names

from lance_core.errors import InvalidInputError, LanceError, PluginNotFoundError
from lance_core.hookspecs.options import hide_secrets, shortened
from lance_core.plugins import get_manager


def connect(impl: str, properties: Mapping[str, Any] | None = None) -> names.LanceNamespace:
    """The namespace ``impl`` with its ``properties``: ``"dir"``, ``"rest"``, or one of a plugin.

    Names that are registered with lance-namespace, and paths of classes (``package.Class``), work
    as in ``lance_namespace.connect``. Raises `PluginNotFoundError` for a name that nobody provides,
    and `InvalidInputError` if the class is no namespace or cannot be made.
    """
    arguments = dict(properties or {})
    properties = hide_secrets(properties)  # for the frames of errors
    try:
        factory: Any = get_manager().namespace(impl)
    except PluginNotFoundError:
        registered = getattr(names, "_REGISTERED_IMPLS", {})
        if "." not in impl and impl not in registered:
            raise
        return _of_lance_namespace(impl, arguments)
    try:
        made = factory(**arguments)
    except (LanceError, names.LanceNamespaceError):
        raise
    except TypeError:
        arguments = {}
        raise InvalidInputError(
            f"namespace {shortened(impl)} does not take the properties {sorted(properties or {})}"
        ) from None
    if not isinstance(made, names.LanceNamespace):
        raise InvalidInputError(f"namespace {shortened(impl)} is not a LanceNamespace")
    return made


def _of_lance_namespace(impl: str, properties: dict[str, Any]) -> names.LanceNamespace:
    try:
        return names.connect(impl, properties)
    except ValueError as error:
        cause = error.__context__
        if isinstance(cause, LanceError):
            raise cause from None
        reason = type(cause).__name__ if cause is not None else "ValueError"
    properties.clear()
    raise InvalidInputError(f"namespace {shortened(impl)} cannot be made ({reason})")
