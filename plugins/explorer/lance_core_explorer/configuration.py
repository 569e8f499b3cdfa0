"""Configurations: actors, the store and the handler they use, and the faults that may occur."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lance_core.commits.history import Version
from lance_core.hookspecs.commits import CommitHandler, Environment
from lance_core.hookspecs.stores import StoreCapabilities
from lance_core_explorer.calls import Call
from lance_core_explorer.port import Port
from lance_core_explorer.spaces import Alarm, Objects, Rest, Space
from lance_core_explorer.store import EVERYTHING, SimulatedStore
from lance_core_explorer.worlds import Fate


class Effects:
    """The store, the handler and the environment that the code of an actor uses."""

    def __init__(self, port: Port, configuration: Configuration) -> None:
        self.port = port
        port.shortest_sleep = configuration.shortest_sleep
        self.environment: Environment = port.environment()
        self.store = SimulatedStore(port, configuration.capabilities, configuration.page)
        self.store.has_views = configuration.is_local
        self.handler: CommitHandler = configuration.handler(self)
        self.note = port.note
        self.is_resting = configuration.replaces
        """True if writers pause between commits, so that another actor can run alone."""
        self.opened: Version | None = port.worlds.opened
        """The version that `Configuration.setup` created, as read right after that."""
        self.most_attempts = sum(actor.commits for actor in configuration.actors) + (
            configuration.max_faults + 1
        )
        """Maximum attempts of a commit (I13): one, and one for each other commit and each fault."""


Body = Callable[[Effects], None]
"""The code of an actor. The explorer runs it again from the start for each new answer, so it keeps
no state between runs and takes all input from its `Effects`."""


@dataclass(frozen=True, slots=True)
class Actor:
    """One of the concurrent users of the table.

    ``follows``: the name of the actor after whose crash this one starts, None to start at once.
    ``starts_late``: it may start after time has passed. ``may_fail``: its calls may fail.
    ``commits``: number of its commits.
    """

    name: str
    body: Body
    follows: str | None = None
    starts_late: bool = False
    may_fail: bool = True
    commits: int = 1


MakeHandler = Callable[[Effects], CommitHandler]
"""Creates the commit handler of an actor."""


class Eagerness(enum.Enum):
    """States if a call commutes with every possible call of other actors.

    A commuting call is executed at once: trying other calls before it leads to no new state.
    """

    NEVER = enum.auto()
    ONCE_PRESENT = enum.auto()
    """Commutes if its object exists, because no actor removes or replaces it."""
    ALWAYS = enum.auto()


def never_eager(call: Call) -> Eagerness:
    """Never eager: the safe choice for calls that are not known to commute."""
    return Eagerness.NEVER


class Scope(enum.Enum):
    """When an invariant is checked."""

    WORLD = "world"
    STATE = "state"
    END = "end"


@dataclass(frozen=True, slots=True)
class Invariant:
    """A property of every state. ``check`` describes how a state violates it, or returns "".

    The argument of ``check`` is `Facts`. The annotation cannot name this type, because `Facts`
    contains the configuration, which contains invariants.
    """

    name: str
    scope: Scope
    check: Callable[[Any], str]

    @property
    def text(self) -> str:
        """The property in words."""
        return (self.check.__doc__ or "").strip()


WRITE_FAULTS = (Fate.CRASH, Fate.LATE, Fate.SENT_TWICE, Fate.REFUSED)
"""The faults of a store that keeps its guarantees. `Fate.LATE` includes a lost answer (the write is
applied at once) and a lost request (the write is never applied)."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The parameters of one exploration.

    ``handler`` creates an actor's commit handler. ``setup`` first creates the table alone; the
    actors begin ``begins`` seconds later.

    At most ``max_faults`` of ``faults`` occur. ``passing``: numbers of seconds that may pass in one
    step, at most ``max_passing`` times; an unanswered write takes effect within ``late_for``
    seconds or never. ``preemptions``: maximum number of switches away from an actor that could
    continue, None for any number. ``shortest_sleep``: if positive, a sleep takes at least this many
    seconds, and time passes when every actor sleeps. If 0, a sleep takes no time.

    ``is_local``: checks of the store cost no request, as with local files. ``page``: see `Objects`.
    ``spaces``: shared services besides the object store. ``eager``: selects calls that are executed
    at once, without trying calls of other actors before them. ``only_adds``: no transaction removes
    data files. ``cleans``: an actor removes old versions; ``has_foreign_cleaner``: without the
    rules of our cleanup. ``replaces``: the table is dropped and created again. At the end
    ``next_writer`` commits, and ``final_cleanup`` removes unneeded files. ``invariants``: the
    checked invariants, None for all. ``violates``: a control, whose schedules must violate an
    invariant.
    """

    name: str
    actors: tuple[Actor, ...]
    handler: MakeHandler
    setup: Body
    faults: tuple[Fate, ...] = WRITE_FAULTS
    max_faults: int = 0
    begins: float = 0.0
    passing: tuple[float, ...] = ()
    max_passing: int = 0
    late_for: float = 600.0
    preemptions: int | None = None
    shortest_sleep: float = 0.0
    capabilities: StoreCapabilities = EVERYTHING
    is_local: bool = False
    page: int | None = None
    spaces: tuple[Space, ...] = ()
    eager: Callable[[Call], Eagerness] = never_eager
    invariants: tuple[Invariant, ...] | None = None
    only_adds: bool = True
    cleans: bool = False
    has_foreign_cleaner: bool = False
    replaces: bool = False
    next_writer: Body | None = None
    final_cleanup: Body | None = None
    violates: bool = False

    def all_spaces(self) -> tuple[Space, ...]:
        """The space of the store's objects, and the other spaces.

        If writing a file commutes with every listing, listings need not show the file.
        """

        def is_hidden(path: str) -> bool:
            return self.eager(Call("store", "put", (path, b""))) is Eagerness.ALWAYS

        return (Objects(self.page, is_hidden), Alarm(), Rest(), *self.spaces)
