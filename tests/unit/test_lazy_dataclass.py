"""Our `dataclass` does what the one of the standard library does, but later."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import InitVar, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import lance_core
from lance_core.lazy_dataclass import INSTANCES_BEFORE_COMPILING, dataclass
from tests.each_case import each_case

Decorator = Callable[..., Callable[[type], type]]


def point_of(decorator: Decorator, **options: bool) -> Any:
    @decorator(**options)
    class Point:
        x: int
        y: float = 0.5
        tags: list[str] = field(default_factory=list, hash=False)
        hidden: int = field(default=1, repr=False, compare=False)
        total: float = field(init=False)
        kind: ClassVar[str] = "point"

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + self.y)

    return Point


def outcome(action: Callable[[], object]) -> object:
    """What an action returns, or its error."""
    try:
        return action()
    except Exception as error:
        return type(error), str(error).replace("self.", "")


OPTIONS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "slots": True, "repr": False},
    {"frozen": True, "slots": True, "kw_only": True},
]

ACTIONS: dict[str, Callable[[Any], object]] = {
    "repr": lambda cls: repr(cls(x=1)).partition(" object at ")[0],
    "positions": lambda cls: cls(1, 2.0, ["a"]).tags,
    "missing argument": lambda cls: cls(),
    "unknown argument": lambda cls: cls(x=1, z=2),
    "equal": lambda cls: cls(x=1) == cls(x=1, hidden=7),
    "unequal": lambda cls: cls(x=1) == cls(x=2),
    "of another class": lambda cls: cls(x=1) == (1, 0.5),
    "hash": lambda cls: len({hash(one) for one in [cls(x=1), cls(x=1, tags=["a"])]}),
    "its own list": lambda cls: cls(x=1).tags is cls(x=1).tags,
    "after initialisation": lambda cls: cls(x=1).total,
    "set": lambda cls: setattr(cls(x=1), "x", 2),
    "delete": lambda cls: delattr(cls(x=1), "x"),
    "replace": lambda cls: dataclasses.replace(cls(x=1), x=3).total,
    "as a dictionary": lambda cls: dataclasses.asdict(cls(x=1)),
    "copy": lambda cls: copy.copy(cls(x=1, y=4.0)).y,
    "deep copy": lambda cls: copy.deepcopy(cls(x=1, tags=["b"])).tags,
    "match": lambda cls: cls.__match_args__,
    "dictionary": lambda cls: hasattr(cls(x=1), "__dict__"),
    "signature": lambda cls: str(inspect.signature(cls)),
    "fields": lambda cls: [f.name for f in dataclasses.fields(cls)],
}


@each_case("options", OPTIONS, ids=str)
def test_it_does_what_the_standard_library_does(options: dict[str, bool]) -> None:
    standard = point_of(dataclasses.dataclass, **options)
    for name, action in ACTIONS.items():
        ours = point_of(dataclass, **options)
        for instance in range(INSTANCES_BEFORE_COMPILING + 2):
            found, expected = outcome(partial(action, ours)), outcome(partial(action, standard))
            assert found == expected, f"{name}, {instance} times before"


@dataclass(frozen=True, slots=True)
class Pickled:
    first: int
    second: str = "b"


@dataclass(frozen=True)
class Derived(Pickled):
    third: int = 3

    def __repr__(self) -> str:
        return "derived"


@dataclass(frozen=True)
class Initialised:
    length: InitVar[int]
    text: str = field(init=False)

    def __post_init__(self, length: int) -> None:
        object.__setattr__(self, "text", "a" * length)


@dataclass(frozen=True, slots=True)
class Empty:
    pass


def test_frozen_values_with_slots_can_be_pickled() -> None:
    value = Pickled(1)
    assert pickle.loads(pickle.dumps(value)) == value


def test_a_class_inherits_fields_and_keeps_its_own_methods() -> None:
    value = Derived(1, third=4)
    assert (value.first, value.second, value.third) == (1, "b", 4)
    assert repr(value) == "derived"
    assert value != Pickled(1)
    assert len({value, Derived(1, third=4)}) == 1


def test_arguments_that_are_no_fields_reach_post_init() -> None:
    assert Initialised(3).text == "aaa"


def test_values_without_fields_are_equal() -> None:
    assert Empty() == Empty()
    assert hash(Empty()) == hash(())


STANDARD = ("lazy_dataclass.py",)
"""Where the standard library's is used."""


def test_the_package_takes_it_from_here() -> None:
    package = Path(lance_core.__file__).parent
    for path in package.rglob("*.py"):
        if not str(path.relative_to(package)).startswith(STANDARD):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                    names = {alias.name for alias in node.names}
                    assert "dataclass" not in names, f"{path}: import lance_core.lazy_dataclass"
