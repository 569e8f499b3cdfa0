"""Actors as tries: the next call of an actor is a function of the answers so far.

A `Node` represents an actor after a sequence of answers. It holds the actor's next call, or its
end. For a new answer after this sequence the actor runs again from its start, which creates a new
node. So all nodes result from running the shipped code, and all schedules with the same answers
share them.

A run that reaches a new node continues without other actors and faults. This is a possible schedule
as well, and it saves a run from the start for each of its nodes.
"""

from __future__ import annotations

from collections.abc import Hashable

from lance_core_explorer.configuration import Actor, Configuration, Effects
from lance_core_explorer.notes import Broken
from lance_core_explorer.port import ALARM, REST, Pending, ReplayPort
from lance_core_explorer.worlds import Fate, Worlds

MAX_CALLS = 250
"""Maximum number of calls of an actor; an actor with more calls counts as endless (I13)."""

ENDED = -1
"""Replaces the number of a call: the actor has finished."""


class Node:
    """An actor after a sequence of answers.

    ``call`` is the number of its pending call, or `ENDED`. ``notes``: its notes. ``number`` is
    unique among the nodes of all actors.
    """

    __slots__ = (
        "_children",
        "_edge",
        "_parent",
        "call",
        "depth",
        "is_alone",
        "notes",
        "number",
        "player",
    )

    def __init__(self, player: Player, parent: Node | None, edge: tuple[int, float]) -> None:
        self.player = player
        self._parent = parent
        self._edge = edge
        self._children: dict[int, Node | dict[float, Node]] = {}
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.number = -1
        self.call = ENDED
        self.is_alone = False
        self.notes: tuple[Hashable, ...] = ()

    def after(self, answer: int, now: float, world: int) -> Node:
        """The node after its call got ``answer`` at the time ``now``, in ``world``."""
        node = self._children.get(answer)
        if node is None:
            return self._grow(answer, now, world)
        if isinstance(node, Node):
            return node
        return node.get(now) or self._grow(answer, now, world)

    def _grow(self, answer: int, now: float, world: int) -> Node:
        node = Node(self.player, self, (answer, now))
        self.player.run(node, world)
        return node

    def settle(self, port: ReplayPort, call: int) -> None:
        """Store the call and the notes from ``port``; from then on `after` returns this node."""
        self.call = call
        self.is_alone = port.is_alone
        self.notes = tuple(port.notes)
        if self._parent is None:
            return
        answer, now = self._edge
        children = self._parent._children  # noqa: SLF001 (of the same class)
        if port.read_time:
            by_time = children.setdefault(answer, {})
            assert isinstance(by_time, dict)
            by_time[now] = self
        else:
            children[answer] = self

    def history(self) -> list[Node]:
        """The nodes from the start to this one."""
        nodes = [self]
        while nodes[-1]._parent is not None:  # noqa: SLF001 (of the same class)
            nodes.append(nodes[-1]._parent)  # noqa: SLF001
        return nodes[::-1]


class Player:
    """One actor of a configuration."""

    def __init__(
        self, actor: Actor, configuration: Configuration, worlds: Worlds, nodes: list[Node]
    ) -> None:
        self.actor = actor
        self._configuration = configuration
        self._worlds = worlds
        self._nodes = nodes
        self._starts: dict[float, Node] = {}
        self.runs = 0

    def start(self, now: float, world: int) -> Node:
        """The actor before its first call."""
        node = self._starts.get(now)
        if node is None:
            node = self._starts[now] = Node(self, None, (-1, now))
            self.run(node, world)
        return node

    def run(self, node: Node, world: int) -> None:
        """Run the actor to ``node``, and further while it is alone in ``world``."""
        self.runs += 1
        history = node.history()
        run = _Run(self._worlds, node, world)
        edges = [passed._edge for passed in history]  # noqa: SLF001
        port = ReplayPort(self._worlds, self.actor.name, edges[1:], edges[0][1], run.go_on)
        run.port = port
        try:
            self.actor.body(Effects(port, self._configuration))
        except Pending:
            pass
        except Exception as error:
            port.note(Broken(f"{type(error).__name__}: {error}"))
        if run.node.depth > MAX_CALLS:
            port.note(Broken(f"I13: it makes more than {MAX_CALLS} calls"))
            port.pending = None
        run.node.settle(port, ENDED if port.pending is None else port.pending)
        for reached in run.reached:
            reached.number = len(self._nodes)
            self._nodes.append(reached)


class _Run:
    """The state of a run that continues without other actors."""

    port: ReplayPort

    def __init__(self, worlds: Worlds, node: Node, world: int) -> None:
        self._worlds = worlds
        self._world = world
        self.node = node
        self.reached = [node]
        """The new nodes; the last one is ``node``."""

    def go_on(self, call: int) -> tuple[int, float] | None:
        """The answer to the latest node's pending call, and its time; None to stop."""
        if self.node.depth >= MAX_CALLS or self._worlds.calls[call].space in (ALARM, REST):
            return None
        now = self.port.now
        effect = self._worlds.effect(self._world, call, Fate.ANSWERED, now)
        assert effect is not None
        self.node.settle(self.port, call)
        edge = (effect.answer, now)
        self.node = Node(self.node.player, self.node, edge)
        self.reached.append(self.node)
        self._world = effect.world
        return edge
