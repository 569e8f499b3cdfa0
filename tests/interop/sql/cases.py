"""The expressions that are compared: templates by function, operator, cast and literal.

``{GROUP}`` in a template stands for each column ``x_TYPE`` of a group of `samples.GROUPS` or of
one type; ``{y:GROUP}`` for each ``y_TYPE``, ``{y:same}`` for the ``y`` column of the first type.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.interop.sql.samples import GROUPS

_PLACEHOLDER = re.compile(r"\{(y:)?(\w+)\}")


@dataclass(frozen=True)
class Case:
    """An expression; ``subject``: the function, operator, type or literal that it tests."""

    subject: str
    text: str

    @property
    def is_pair(self) -> bool:
        """True if it names a ``y`` column, which only the table of pairs has."""
        return re.search(r"\by_\w", self.text) is not None


def cases(subject: str, templates: str) -> Iterator[Case]:
    """The expressions of ``templates``, one a line."""
    for template in filter(None, map(str.strip, templates.split("\n"))):
        for text in _expanded(template):
            yield Case(subject, text)


def _expanded(template: str) -> Iterator[str]:
    names = [group for _, group in _PLACEHOLDER.findall(template)]
    for types in itertools.product(*map(_types, names)):
        parts = _PLACEHOLDER.split(template)
        # Texts at 0, 3, 6, …; before each of them, but the first, a prefix and a group.
        for i, kind in enumerate(types):
            name = types[0] if kind == "same" else kind
            parts[3 * i + 1] = f"{'y' if parts[3 * i + 1] else 'x'}_{name}"
            parts[3 * i + 2] = ""
        yield "".join(parts)


def _types(group: str) -> tuple[str, ...]:
    return (group,) if group == "same" else tuple(GROUPS.get(group, (group,)))
