"""Convert storage options, which are text, to arguments of a file system.

Text that is valid JSON becomes its JSON value (``22``, ``true``, ``null``, ``{"a": 1}``; ``"22"``
in quotes is a text of digits); other text stays text. Secrets stay text unless they are JSON
objects: a password of digits is not a number. JSON that contains secrets is a secret as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from inspect import Parameter, signature

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import (
    ALMOST_EQUAL,
    Secret,
    nearest,
    shortened,
    sounds_secret,
    texts_in,
)

_NO_VALUE = frozenset({"NaN", "Infinity", "-Infinity"})
"""Texts that Python's JSON parser accepts although they are not JSON."""

_OF_FSSPEC = frozenset(
    {
        *("asynchronous", "batch_size", "listings_expiry_time", "loop", "max_paths"),
        *("skip_instance_cache", "use_listings_cache"),
    }
)
"""Arguments that fsspec itself accepts for every file system."""


def arguments_of(options: Mapping[str, str | Secret]) -> dict[str, object]:
    """The arguments of the file system in ``options``, with secrets revealed."""
    return {name: _value(name, text) for name, text in options.items()}


def check_names(arguments: Iterable[str], file_system: type) -> None:
    """Refuse names that are similar to parameters of a file-system class.

    Many classes pass on unknown arguments, so other names may be valid. Raises `InvalidInputError`
    with the probable name.
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
    """Names of the parameters of the constructors of a class and its base classes."""
    for base in file_system.__mro__:
        if "__init__" in vars(base) and base is not object:
            for name, parameter in list(signature(vars(base)["__init__"]).parameters.items())[1:]:
                if parameter.kind not in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL):
                    yield name


def secrets_of(options: Mapping[str, str | Secret], netloc: str = "") -> tuple[str, ...]:
    """The texts that must never be shown: secret options, and a password in ``netloc``.

    This includes every longer text inside a secret JSON value.
    """
    secrets: set[str] = set()
    for value in options.values():
        if isinstance(value, Secret):
            secrets.add(value.reveal())
            secrets.update(texts_in(_parsed(value.reveal())))
    user, _, _ = netloc.rpartition("@")
    secrets.add(user.partition(":")[2])
    return tuple(filter(None, secrets))


def _value(name: str, option: str | Secret) -> object:
    if not isinstance(option, Secret):
        return _parsed(option)
    text = option.reveal()
    value = _parsed(text)
    is_value = isinstance(value, dict) or (isinstance(value, list) and not sounds_secret(name))
    return value if is_value else text


def _parsed(text: str) -> object:
    try:
        return text if text in _NO_VALUE else json.loads(text)
    except (ValueError, RecursionError):
        return text
