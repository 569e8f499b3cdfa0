"""The descriptor of a command, which plugins return, and the class that it names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import argparse


class Command(ABC):
    """One command, such as ``lance-core plugins``."""

    def configure(self, parser: argparse.ArgumentParser) -> None:  # noqa: B027  # may have none
        """Add the arguments of the command to its parser."""

    @abstractmethod
    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """The output, line by line, for the arguments that users gave.

        A `LanceError`, also after lines, ends the command with status 1 and its text.
        """


CommandFactory: TypeAlias = Callable[[], Command]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """Describes a command, which a plugin returns from ``lance_commands``.

    ``name``: what users type after ``lance-core``. ``summary``: one line for its help. ``factory``:
    returns the `Command`, or its import path ``"module:attribute"``, imported when the command is
    used.
    """

    name: str
    summary: str
    factory: CommandFactory | str
