"""Storage options, which are text, as the arguments that a file system takes.

Text that is JSON means the value it denotes (``22``, ``true``, ``null``, ``{"a": 1}``, ``"22"`` in
quotes for a text of digits), other text means itself. Secrets are texts unless they are JSON
objects: a password of digits is no number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from inspect import Parameter, signature

from lance_core.errors import InvalidInputError
from lance_core.store.secret import Secret, sounds_secret
from lance_core.suggestions import ALMOST_EQUAL, nearest, shortened

_NO_VALUE = frozenset({"NaN", "Infinity", "-Infinity"})
"""What Python's parser takes for JSON though it is none."""

_OF_FSSPEC = frozenset(
    {
        *("asynchronous", "batch_size", "listings_expiry_time", "loop", "max_paths"),
        *("skip_instance_cache", "use_listings_cache"),
    }
)
"""Arguments that fsspec itself takes, for every file system."""


def arguments_of(options: Mapping[str, str | Secret]) -> dict[str, object]:
    """The arguments of the file system that ``options`` mean, secrets revealed.

    Raises `InvalidInputError` for a plain text with a password deep inside: nobody would know that
    it must not be shown or travel.
    """
    return {name: _value(name, given) for name, given in options.items()}


def check_names(arguments: Iterable[str], file_system: type) -> None:
    """Refuse names that are almost those of parameters of a class of file systems.

    Many classes pass on whatever else they are given, so other unknown names may be right. Raises
    `InvalidInputError` with the name that is probably meant.
    """
    known = {*_OF_FSSPEC, *_parameters(file_system)}
    for name in arguments:
        near = None if name in known else nearest(name, known, ALMOST_EQUAL)
        if near is not None:
            raise InvalidInputError(
                f"the file system {file_system.__name__} has no option {shortened(name)}: did you "
                f"mean {near!r}?"
            )


def _parameters(file_system: type) -> Iterator[str]:
    """Names of the parameters of the initialisers of a class and of its bases."""
    for base in file_system.__mro__:
        if "__init__" in vars(base) and base is not object:
            for name, parameter in list(signature(vars(base)["__init__"]).parameters.items())[1:]:
                if parameter.kind not in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL):
                    yield name


def secrets_of(options: Mapping[str, str | Secret], netloc: str = "") -> tuple[str, ...]:
    """The texts that must never be shown: those of secret options, and a password in ``netloc``.

    Every longer text inside a secret JSON object counts. The longest come first.
    """
    found: set[str] = set()
    for given in options.values():
        if isinstance(given, Secret):
            found.add(given.reveal())
            found.update(_texts(_object_or_text(given.reveal())))
    user, _, _ = netloc.rpartition("@")
    password = user.partition(":")[2]
    found.add(password)
    # To blot out fewer characters wherever they stand hides nothing but the message.
    return tuple(sorted((text for text in found if len(text) >= 4), key=len, reverse=True))


def _value(name: str, given: str | Secret) -> object:
    if isinstance(given, Secret):
        return _object_or_text(given.reveal())
    value = _parsed(given)
    inner = _secret_name(value)
    if inner is not None:
        raise InvalidInputError(
            f"option {name!r} holds {inner!r} in plain text: give the option as a whole as a "
            "lance_core.store.config.Secret, or leave the secret to the environment"
        )
    return value


def _parsed(text: str) -> object:
    try:
        return text if text in _NO_VALUE else json.loads(text)
    except (ValueError, RecursionError):
        return text


def _object_or_text(text: str) -> object:
    value = _parsed(text)
    return value if isinstance(value, dict) else text


def _secret_name(value: object) -> str | None:
    """The first name inside ``value`` that sounds as if it named a secret."""
    if isinstance(value, list):
        return next(filter(None, map(_secret_name, value)), None)
    if not isinstance(value, dict):
        return None
    for name, inner in value.items():
        if sounds_secret(name) and isinstance(inner, str):
            return str(name)
        found = _secret_name(inner)
        if found is not None:
            return found
    return None


def _texts(value: object) -> list[str]:
    """The texts in ``value``, at any depth, that are long enough to be a secret."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return [value] if isinstance(value, str) and len(value) >= 8 else []
