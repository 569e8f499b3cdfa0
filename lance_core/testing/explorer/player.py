"""Actors as tries: what an actor does next is a function of the answers that it got.

A `Node` stands for one actor after one history of answers. It holds the call that the actor makes
next, or the end. The actor runs, from its start, only when it gets an answer that it never got
after that history; then there is a new node. So the trie is filled by the shipped code and nothing
else, and every schedule that brings the same answers shares it.
"""

from __future__ import annotations

from collections.abc import Hashable

from lance_core.testing.explorer.configuration import Actor, Configuration, Effects
from lance_core.testing.explorer.notes import Broken
from lance_core.testing.explorer.port import Pending, ReplayPort
from lance_core.testing.explorer.worlds import Worlds

DEEPEST = 250
"""Calls; an actor that makes more of them will never end (I13)."""

ENDED = -1
"""In place of the number of a call: the actor is done."""


class Node:
    """An actor after a history of answers.

    ``call`` is the number of its pending call, or `ENDED`. ``notes``: what it has found out.
    ``number`` is unique among the nodes of all actors.
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

    def after(self, answer: int, now: float) -> Node:
        """The actor once its call was answered at the time ``now``."""
        found = self._children.get(answer)
        if found is None:
            return self._grow(answer, now)
        if isinstance(found, Node):
            return found
        return found.get(now) or self._grow(answer, now)

    def _grow(self, answer: int, now: float) -> Node:
        node = Node(self.player, self, (answer, now))
        if self.player.run(node):
            by_time = self._children.setdefault(answer, {})
            assert isinstance(by_time, dict)
            by_time[now] = node
        else:
            self._children[answer] = node
        return node

    def history(self) -> list[Node]:
        """The nodes from the start to this one."""
        nodes = [self]
        while nodes[-1]._parent is not None:  # noqa: SLF001 (of the same class)
            nodes.append(nodes[-1]._parent)  # noqa: SLF001
        return nodes[::-1]

    def answers(self) -> list[tuple[int, float]]:
        """What was answered, and when."""
        return [node._edge for node in self.history()[1:]]  # noqa: SLF001


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

    def start(self, now: float) -> Node:
        """The actor before its first call."""
        node = self._starts.get(now)
        if node is None:
            node = self._starts[now] = Node(self, None, (-1, now))
            self.run(node)
        return node

    def run(self, node: Node) -> bool:
        """Find out what the actor does at ``node``; whether that depends on the time."""
        self.runs += 1
        start = node.history()[0]._edge[1]  # noqa: SLF001
        port = ReplayPort(self._worlds, self.actor.name, node.answers(), start)
        try:
            self.actor.body(Effects(port, self._configuration))
        except Pending:
            pass
        except Exception as error:
            port.note(Broken(f"{type(error).__name__}: {error}"))
        if node.depth > DEEPEST:
            port.note(Broken(f"I13: it makes more than {DEEPEST} calls"))
            port.pending = None
        node.call = ENDED if port.pending is None else port.pending
        node.is_alone = port.is_alone
        node.notes = tuple(port.notes)
        node.number = len(self._nodes)
        self._nodes.append(node)
        return port.read_time
