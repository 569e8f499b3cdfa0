"""What is explored, as data: who takes part, on which store and handler, and what may go wrong."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lance_core.commits.base import CommitHandler
from lance_core.commits.environment import Environment
from lance_core.commits.history import Version
from lance_core.store.base import StoreCapabilities
from lance_core_explorer.calls import Call
from lance_core_explorer.port import Port
from lance_core_explorer.spaces import Alarm, Objects, Rest, Space
from lance_core_explorer.store import EVERYTHING, SimulatedStore
from lance_core_explorer.worlds import Fate


class Effects:
    """All that the code of an actor may touch."""

    def __init__(self, port: Port, configuration: Configuration) -> None:
        self.port = port
        port.shortest_sleep = configuration.shortest_sleep
        self.environment: Environment = port.environment()
        self.store = SimulatedStore(port, configuration.capabilities, configuration.page)
        self.store.has_views = configuration.is_local
        self.handler: CommitHandler = configuration.handler(self)
        self.note = port.note
        self.is_resting = configuration.replaces
        """Whether writers pause between their commits, so that others can be alone."""
        self.opened: Version | None = port.worlds.opened
        """The version that `Configuration.setup` made, as somebody has it who opened it then."""
        self.most_attempts = sum(actor.commits for actor in configuration.actors) + (
            configuration.max_faults + 1
        )
        """I13: more attempts than one for each other commit and each fault are a mistake."""


Body = Callable[[Effects], None]
"""What an actor does. It is run again from its start whenever it sees something new, so it keeps
nothing between runs and takes everything from its `Effects`."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who works on the table.

    ``follows``: the name of the actor after whose crash this one starts, None to start at once.
    ``starts_late``: may start after time has passed. ``may_fail``: whether faults strike its calls.
    ``commits``: how many commits it makes.
    """

    name: str
    body: Body
    follows: str | None = None
    starts_late: bool = False
    may_fail: bool = True
    commits: int = 1


MakeHandler = Callable[[Effects], CommitHandler]
"""Makes the commit handler of an actor."""


class Eagerness(enum.Enum):
    """Whether a call commutes with everything that others may do.

    Such a call need not wait: trying what others could do before it leads to nothing new.
    """

    NEVER = enum.auto()
    ONCE_PRESENT = enum.auto()
    """If there is an object under its key, because nobody removes or replaces that one."""
    ALWAYS = enum.auto()


def never_eager(call: Call) -> Eagerness:
    """The safe answer."""
    return Eagerness.NEVER


class Scope(enum.Enum):
    """How often an invariant is asked."""

    WORLD = "world"
    STATE = "state"
    END = "end"


@dataclass(frozen=True, slots=True)
class Invariant:
    """Something that holds in every state. ``check`` says what is wrong, "" if nothing is.

    Its argument is `Facts`, of which the configuration itself is one.
    """

    name: str
    scope: Scope
    check: Callable[[Any], str]

    @property
    def text(self) -> str:
        """What it says."""
        return (self.check.__doc__ or "").strip()


WRITE_FAULTS = (Fate.CRASH, Fate.LATE, Fate.SENT_TWICE, Fate.REFUSED)
"""What can go wrong on a store that keeps its promises. A late landing includes a lost answer (it
lands at once) and a lost request (it never lands)."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One exploration.

    ``handler`` makes an actor's commit handler. ``setup`` makes the table, alone and first; the
    actors begin ``begins`` seconds after that.

    ``faults`` may strike ``max_faults`` times. ``passing``: seconds that may pass at a time, at
    most ``max_passing`` times; a call that was not answered lands within ``late_for`` seconds or
    never. ``preemptions``: how often the schedule may leave an actor that could go on, None for any
    number. ``shortest_sleep``: if positive, whoever sleeps goes on when the time has passed, and
    after so many seconds at least; time passes when nobody can do anything else. If 0, sleep takes
    no time.

    ``is_local``: looking at the store takes no request, as with local files. ``page``: see
    `Objects`. ``spaces``: what actors share besides the objects. ``eager``: which
    calls may be made at once, without trying what others could do before them. ``only_adds``: no
    transaction removes data files. ``cleans``: old versions are removed; ``has_foreign_cleaner``:
    by somebody who follows none of our rules. ``replaces``: the table is dropped and made again.

    ``next_writer`` commits once all is over; ``final_cleanup`` removes what nobody needs then.
    ``invariants``: what must hold, None for all. ``violates``: a control, whose schedules are
    expected to break an invariant.
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
        """The objects of the store, and the rest.

        If writing a file commutes with every listing, listings cannot show it.
        """

        def is_hidden(path: str) -> bool:
            return self.eager(Call("store", "put", (path, b""))) is Eagerness.ALWAYS

        return (Objects(self.page, is_hidden), Alarm(), Rest(), *self.spaces)
