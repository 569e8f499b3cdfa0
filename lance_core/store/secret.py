"""Values that must not be seen: they do not print, do not format, and do not travel by accident."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import NoReturn

from lance_core.errors import InvalidInputError

_HIDDEN = "***"
_carrying: ContextVar[bool] = ContextVar("lance_core_carrying_secrets", default=False)

_TELLING = (
    *("secret", "token", "passw", "pwd", "passphrase", "credential", "signature", "private"),
    *("accesskey", "accountkey", "apikey", "masterkey", "sharedkey", "encryptionkey", "saskey"),
    "customerkey",
)
_SHORT = frozenset({"sig", "sas"})
"""Names that tell only as a whole."""

_PASSWORD = re.compile(r"://[^/@\s]*:[^@\s]+@")
"""A URL with a password in it."""


class Secret:
    """A text that only `reveal` shows.

    Pickling drops the value, unless it happens inside `carrying_secrets`; what is read back then
    is *missing*, and revealing it raises. Two secrets are equal if their values are.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise InvalidInputError(f"a secret is text, not {type(value).__name__}")
        self._value: str | None = value

    @classmethod
    def missing(cls) -> Secret:
        """A secret whose value was left behind."""
        secret = cls("")
        secret._value = None
        return secret

    @property
    def is_missing(self) -> bool:
        """Whether the value was dropped by pickling."""
        return self._value is None

    def reveal(self) -> str:
        """The value; `InvalidInputError` if it was left behind."""
        if self._value is None:
            raise InvalidInputError(
                "a secret option was left behind when its configuration was pickled: give the "
                "option again, use credentials of the environment, or pickle inside "
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
    """Whether the caller is inside `carrying_secrets`."""
    return _carrying.get()


def plain(value: str | Secret) -> str:
    """The text of an option, be it secret or not."""
    return value.reveal() if isinstance(value, Secret) else value


def wrap_secrets(
    options: Mapping[str, str | Secret], declared: Iterable[str] = ()
) -> dict[str, str | Secret]:
    """``options`` with a `Secret` for each name that is ``declared`` or sounds like one.

    The names that a store declares do not suffice: options are also given under names that it
    does not know. URLs with a password, such as those of proxies, are secrets under any name.
    """
    secret = {name.lower() for name in declared}
    return {
        name: Secret(value)
        if isinstance(value, str)
        and (name.lower() in secret or sounds_secret(name) or _PASSWORD.search(value))
        else value
        for name, value in options.items()
    }


def sounds_secret(name: str) -> bool:
    """Whether an option or a query parameter of this name is likely to hold a secret."""
    word = name.lower().replace("_", "").replace("-", "").replace(".", "")
    return word in _SHORT or any(telling in word for telling in _TELLING)
