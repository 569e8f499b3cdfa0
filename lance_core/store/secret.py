"""Secret values, which are never printed, formatted or pickled by accident."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar, cast

from lance_core.errors import InvalidInputError
from lance_core.store.secret_detection import looks_secret, sounds_secret

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)

_HIDDEN = "***"
_carrying: ContextVar[bool] = ContextVar("lance_core_carrying_secrets", default=False)


class Secret:
    """A text that only `reveal` returns.

    Pickling drops the value, except inside `carrying_secrets`; the unpickled secret is then
    *missing*, and `reveal` raises. Two secrets are equal if their values are equal.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise InvalidInputError(f"a secret is text, not {type(value).__name__}")
        self._value: str | None = value

    @classmethod
    def missing(cls) -> Secret:
        """A secret whose value was dropped by pickling."""
        secret = cls("")
        secret._value = None
        return secret

    @property
    def is_missing(self) -> bool:
        """True if the value was dropped by pickling."""
        return self._value is None

    def reveal(self) -> str:
        """The value; `InvalidInputError` if pickling dropped it."""
        if self._value is None:
            raise InvalidInputError(
                "the value of a secret option was dropped when its configuration was pickled: give "
                "the option again, use credentials of the environment, or pickle inside "
                "carrying_secrets()"
            )
        return self._value

    def __repr__(self) -> str:
        return f"Secret({'missing' if self._value is None else _HIDDEN})"

    def __str__(self) -> str:
        return _HIDDEN

    def __format__(self, spec: str) -> str:
        return format(_HIDDEN, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __bool__(self) -> bool:
        return bool(self._value)

    def __iter__(self) -> NoReturn:
        raise TypeError("a secret is not a sequence of characters; use reveal()")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Secret:
        return self

    def __reduce__(self) -> tuple[Callable[..., Secret], tuple[str, ...]]:
        if self._value is None or not _carrying.get():
            return (Secret.missing, ())
        return (Secret, (self._value,))


@contextlib.contextmanager
def carrying_secrets() -> Iterator[None]:
    """Within the block, pickling on this thread keeps the values of secrets."""
    token = _carrying.set(True)
    try:
        yield
    finally:
        _carrying.reset(token)


def are_secrets_carried() -> bool:
    """True if the caller is inside `carrying_secrets`."""
    return _carrying.get()


def without_frames(error: E) -> E:
    """``error`` without the frames of it and of what led to it, whose variables hold secrets.

    Contexts that ``raise … from None`` hides are removed: their texts may repeat values.
    """
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        cause.__traceback__ = None
        if cause.__suppress_context__ and cause.__cause__ is None:
            cause.__context__ = None
        waiting += [cause.__cause__, cause.__context__]
    return error


def plain(value: str | Secret) -> str:
    """The text of an option, secret or not."""
    return value.reveal() if isinstance(value, Secret) else value


def wrap_secrets(
    options: Mapping[str, str | Secret], declared: Iterable[str] = ()
) -> dict[str, str | Secret]:
    """``options`` with a `Secret` for each that is ``declared``, sounds secret or looks secret.

    The declared names alone are not sufficient, because users also give options under names that
    the store does not define, and secrets under names of other options: see
    `lance_core.store.secret_detection`.
    """
    if not options:
        return {}
    secret = {name.lower() for name in declared}
    return {
        name: Secret(value)
        if isinstance(value, str)
        and (name.lower() in secret or sounds_secret(name) or looks_secret(value))
        else value
        for name, value in options.items()
    }


class NotText:
    """Replaces an option value that cannot be text; shows only the name of the value's type."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def __repr__(self) -> str:
        return f"<{self.type_name}>"


def hide_secrets(options: T) -> T:
    """Storage options as texts, in a form that no stack frame can reveal.

    The first statement of each public function with storage options rebinds its parameter to the
    result. Booleans, numbers and paths become texts; options that are None are left out. Values are
    wrapped as by `wrap_secrets`; other values become `NotText`, which later checks refuse. None
    stays None. A value that is not a mapping becomes `NotText` as a whole. Never raises, because
    the frames of this function and of its caller still hold the plain values.
    """
    if options is None:
        return options
    if type(options) is dict and not options:
        return {}  # type: ignore[return-value]  # equal to `options`
    hidden: object = _not_text(options)
    if isinstance(options, Mapping):
        hidden = wrap_secrets(texts_of(options))
    return cast("T", hidden)


def texts_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """``options`` with values as texts or secrets, without those that are None.

    Values that cannot be text, and all values of names that are not text, become `NotText`.
    """
    return {
        name: _text_of(value) if isinstance(name, str) else _not_text(value)
        for name, value in options.items()
        if value is not None
    }


def _text_of(value: object) -> str | Secret | NotText:
    if isinstance(value, str | Secret):
        return value
    text: object = None
    with contextlib.suppress(Exception):
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, int):
            text = int.__repr__(value)  # that of a subclass may be another text
        elif isinstance(value, float):
            text = float.__repr__(value)
        elif isinstance(value, os.PathLike):
            text = os.fspath(value)
        elif type(value).__module__ == "numpy" and callable(item := getattr(value, "item", None)):
            return _text_of(item())  # numpy's numbers and booleans
    return text if isinstance(text, str) else _not_text(value)


def _not_text(value: object) -> Any:
    return value if isinstance(value, NotText) else NotText(type(value).__name__)


def hide_secrets_in(arguments: MutableMapping[str, Any]) -> None:
    """Apply `hide_secrets` to those keyword arguments that are storage options."""
    if "storage_options" in arguments:
        arguments["storage_options"] = hide_secrets(arguments["storage_options"])
    if "base_store_params" in arguments:
        arguments["base_store_params"] = hide_base_secrets(arguments["base_store_params"])


def hide_base_secrets(params: T) -> T:
    """Apply `hide_secrets` to storage options by the URI of a base path; never raises."""
    if params is None:
        return params
    hidden: object = _not_text(params)
    if isinstance(params, Mapping):
        hidden = {uri: hide_secrets(options) for uri, options in params.items()}
    return cast("T", hidden)


def check_storage_options(options: Mapping[str, str | Secret]) -> None:
    """Raise `InvalidInputError` unless ``options`` is a mapping of text to text or secrets."""
    if not isinstance(options, Mapping):
        raise InvalidInputError(f"storage options must be a mapping, not {_type_name(options)}")
    items: Iterable[tuple[object, object]] = options.items()
    for name, value in items:
        if not isinstance(name, str):
            raise InvalidInputError(
                f"a name of a storage option is of type {_type_name(name)}, not text"
            )
        if not isinstance(value, str | Secret):
            raise InvalidInputError(
                f"storage option {name!r} is of type {_type_name(value)}: give a text, a number, "
                "True or False, or a path"
            )


def _type_name(value: object) -> str:
    return value.type_name if isinstance(value, NotText) else type(value).__name__
