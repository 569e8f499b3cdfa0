"""Descriptions of storage options: their names, the variables that set them, and their effect.

Each store has one table of `Option`. Aliases, secrets, environment variables, checks and the pages
of the documentation are derived from it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.options import Secret, looks_random, plain, secret_kind, wrap_secrets
from lance_core_remote.option_values import (
    Options,
    described,
    is_false,
    take,
    take_boolean,
    take_integer,
    take_seconds,
)


class Use(enum.Enum):
    """The treatment of an option."""

    APPLIED = "applied"
    IGNORED = "ignored"
    """The option has no effect here; its text gives the reason. Its value is checked."""
    REFUSED = "refused"
    """Setting it raises `UnsupportedFeatureError`, unless it is set to false."""


class ValueForm(enum.Enum):
    """The form of an option's value; the values complete the sentence "it must be …"."""

    TEXT = "a text"
    BOOLEAN = "'true' or 'false'"
    INTEGER = "a whole number"
    SECONDS = "a duration, such as '30s'"
    PATH = "the path of a file"
    ADDRESS = "an address, such as https://host:port"
    PROXY = "the URL of a proxy"
    NAME = "a name"
    IDENTIFIER = "an identifier"
    """May consist of random characters without being a secret."""


@dataclass(frozen=True, slots=True)
class Option:
    """A storage option with its canonical ``name`` and alternative names ``others``.

    ``text``: its meaning, a sentence. ``environment``: variables that set the option if it is not
    given, besides those that `variables_of` derives from its names; the first one that is set
    counts. ``is_secret``: its value must never be shown.
    """

    name: str
    text: str
    others: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    form: ValueForm = ValueForm.TEXT
    use: Use = Use.APPLIED
    is_secret: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the canonical one first."""
        return (self.name, *self.others)


def variables_of(option: Option, prefixes: Iterable[str]) -> Iterator[str]:
    """The environment variables of an option, by precedence, each once.

    These are its ``environment``, then its names that begin with one of ``prefixes`` (in lower
    case), then its names without a prefix.
    """
    prefixes = tuple(prefixes)
    names = sorted(option.names, key=lambda name: not name.startswith(prefixes))
    yield from dict.fromkeys([*option.environment, *(name.upper() for name in names)])


def add_variables(
    options: Options, variables: Mapping[str, Iterable[str]], environment: Mapping[str, str]
) -> None:
    """Add to ``options`` those that only ``environment`` sets; secrets are wrapped.

    ``variables``: the variables of each option, by its canonical name.
    """
    used: dict[str, str] = getattr(options, "variables", {})
    for name, candidates in variables.items():
        if name in options:
            continue
        variable = next(filter(environment.get, candidates), None)
        if variable is not None:
            options.update(wrap_secrets({name: environment[variable]}))
            used[name] = variable


def refuse_misplaced_secrets(options: Options, table: Iterable[Option]) -> None:
    """Raise `InvalidInputError` if an option that is not secret holds what looks like a secret.

    The error names the option or variable and what was expected, never the value.
    """
    for option in table:
        value = options.get(option.name)
        if value is None or option.is_secret or (isinstance(value, Secret) and value.is_missing):
            continue
        text = plain(value)
        likeness = secret_kind(text)
        if option.form is ValueForm.PROXY and likeness == "a URL with a password":
            continue
        if likeness is None and option.form is not ValueForm.IDENTIFIER and looks_random(text):
            likeness = "a random key or token"
        if likeness is not None:
            raise InvalidInputError(
                f"{described(options, option.name)} must be {option.form.value}, but its value, "
                f"which is not shown, looks like {likeness}"
            )


def drop_unused(options: Options, table: Iterable[Option]) -> None:
    """Remove and check ignored options. Raises `UnsupportedFeatureError` for refused ones."""
    for option in table:
        if option.use is Use.APPLIED or option.name not in options:
            continue
        what = described(options, option.name)
        if option.use is Use.IGNORED:
            _TAKE[option.form](options, option.name)
        elif not is_false(take(options, option.name) or ""):
            text = f"{option.text[0].lower()}{option.text[1:]}"
            raise UnsupportedFeatureError(f"{what} is not supported: {text}")


_TAKE: Mapping[ValueForm, Callable[[Options, str], object]] = {
    **dict.fromkeys(ValueForm, take),
    ValueForm.BOOLEAN: take_boolean,
    ValueForm.INTEGER: lambda options, name: take_integer(options, name, default=0),
    ValueForm.SECONDS: lambda options, name: take_seconds(options, name, default=0.0),
}
