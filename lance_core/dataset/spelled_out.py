"""Signatures with all keyword arguments by name, made when somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lance_core.imports.on_demand import import_module


class SpelledOut:
    """Stands for a function with keyword arguments of a ``TypedDict`` as its ``__wrapped__``.

    `inspect.signature`, and so `help` and editors that run the code, find the arguments by name,
    with types and defaults. Until then nothing is computed.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def __signature__(self) -> Any:
        return import_module("lance_core.dataset.arguments").signature(self.function)
