"""The fields of a schema, with those inside of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lance_core.schema import LanceField


def nested(fields: Iterable[LanceField], depth: int = 0) -> Iterator[tuple[int, LanceField]]:
    """All ``fields``, each before those inside of it, with how deep it is."""
    for field in fields:
        yield depth, field
        yield from nested(field.children(), depth + 1)
