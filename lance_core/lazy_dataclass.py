"""A replacement of the standard library's `dataclass` that creates classes fast, for cold starts.

The standard library compiles up to eight methods for each class at import, which took 45 % of the
time of a process that writes and reads a small table. Here `__init__` is compiled only after 200
instances, since most classes have one or two, and the other methods are closures. `order` and
`unsafe_hash` are not supported, because the package does not use them; a class with an `InitVar`
gets the standard `dataclass`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, make_dataclass
from dataclasses import dataclass as _standard
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from lance_core.errors import printable

__all__ = ["dataclass", "replace"]

T = TypeVar("T")

INSTANCES_BEFORE_COMPILING = 200
"""Instances after which `__init__` is compiled.

An uncompiled instance takes 2 microseconds more, and compiling as long as about 200 of them. So
compiling then at most doubles the time of the instances, however many there are.
"""

MAX_SHOWN_ITEMS = 10
"""Items of a container in the `repr` of an instance: a transaction has thousands of fragments."""

MAX_SHOWN_LETTERS = 1000

_BRACKETS: dict[type, tuple[str, str]] = {
    dict: ("{", "}"),
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options: bool) -> Any:
        """Like `dataclasses.dataclass`, with the options frozen, slots, eq, repr and kw_only."""
        return _create(cls, **options) if cls else lambda cls: _create(cls, **options)


def replace(value: T, **changes: Any) -> T:
    """Like `dataclasses.replace`, in a third of the time: a commit replaces ten large values."""
    cls: Any = value.__class__
    known = _INIT_FIELDS.get(cls)
    if known is None:
        names = [f.name for f in fields(cls) if f.init]
        known = _INIT_FIELDS[cls] = names, _values(names)
    names, values_of = known
    replaced: T = cls(**{**dict(zip(names, values_of(value), strict=True)), **changes})
    return replaced


_INIT_FIELDS: dict[type, tuple[list[str], Callable[[object], tuple[object, ...]]]] = {}
"""For classes whose instances were replaced: the names of the arguments, and what returns them."""


def _create(
    cls: type,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> type:
    own = vars(cls)
    if any("InitVar" in str(annotation) for annotation in cls.__annotations__.values()):
        return _standard(frozen=frozen, slots=slots, eq=eq, repr=repr, kw_only=kw_only)(cls)
    if not own.get("__doc__"):
        cls.__doc__ = (
            cls.__name__
        )  # an empty one makes the standard library build a signature, which is slow
    cls = _standard(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    members = fields(cls)
    methods: dict[str, Any] = {}
    if "__init__" not in own:
        methods["__init__"] = _init_of(cls, frozen)
        methods["__signature__"] = _Signature(cls, frozen)
    if repr and "__repr__" not in own:
        methods["__repr__"] = _repr_of([f.name for f in members if f.repr])
    if eq and "__eq__" not in own:
        methods["__eq__"] = _eq_of(_values([f.name for f in members if f.compare]))
    if eq and own.get("__hash__") is None:
        hashed = [f.name for f in members if (f.compare if f.hash is None else f.hash)]
        methods["__hash__"] = _hash_of(_values(hashed)) if frozen else None
    if frozen:
        methods |= _refusals(cls, frozenset(f.name for f in members))
        if slots:
            methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    for name, method in methods.items():
        setattr(cls, name, method)
    return cls


def _init_of(cls: Any, frozen: bool) -> Callable[..., None]:
    """An uncompiled `__init__`; a compiled one replaces it after `INSTANCES_BEFORE_COMPILING`.

    It is replaced at once for arguments that the uncompiled one cannot handle.
    """
    members = fields(cls)
    positional = [f.name for f in members if f.init and not f.kw_only]
    names = {f.name for f in members if f.init}
    required = {
        f.name for f in members if f.init and f.default is MISSING and f.default_factory is MISSING
    }
    remaining = INSTANCES_BEFORE_COMPILING

    def __init__(self: Any, *args: object, **kwargs: object) -> None:  # noqa: N807
        nonlocal remaining
        remaining -= 1
        values = dict(zip(positional, args, strict=False)) | kwargs
        is_valid = len(values) == len(args) + len(kwargs) and required <= values.keys() <= names
        if remaining < 0 or not is_valid:
            cls.__init__ = _compile_init(cls, frozen)
            cls.__init__(self, *args, **kwargs)
            return
        for f in members:
            if f.name in values:
                object.__setattr__(self, f.name, values[f.name])
            elif f.default is not MISSING:
                object.__setattr__(self, f.name, f.default)
            elif f.default_factory is not MISSING:
                object.__setattr__(self, f.name, f.default_factory())
        if hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _compile_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """The `__init__` that the standard library compiles; raises its errors for wrong arguments."""
    members = fields(cls)
    specified = [(f.name, f.type, _same_in_init(f)) for f in members]
    namespace = {"__doc__": cls.__doc__}
    if hasattr(cls, "__post_init__"):
        namespace["__post_init__"] = cls.__post_init__
    sets_all = not all(
        f.init for f in members
    )  # with slots it also sets fields that are no arguments
    options: dict[str, Any] = {"repr": False, "eq": False, "frozen": frozen, "slots": sets_all}
    made: Any = make_dataclass(cls.__name__, specified, namespace=namespace, **options)
    init: Callable[..., None] = made.__init__
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


class _Signature:
    """A descriptor that computes `__signature__` on access; `help` and editors show its result."""

    def __init__(self, cls: type, frozen: bool) -> None:
        self._cls, self._frozen = cls, frozen

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if owner is not self._cls:
            raise AttributeError("__signature__")  # a subclass may define its own __init__
        init = inspect.signature(_compile_init(owner, self._frozen))
        return init.replace(parameters=list(init.parameters.values())[1:])


def _same_in_init(f: Field[Any]) -> Any:
    return field(
        default=f.default, default_factory=f.default_factory, init=f.init, kw_only=f.kw_only
    )


def _values(names: list[str]) -> Callable[[object], tuple[object, ...]]:
    """A function that returns the values of the fields ``names`` as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _eq_of(values: Callable[[object], tuple[object, ...]]) -> Callable[[object, object], Any]:
    def __eq__(self: object, other: object) -> Any:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hash_of(values: Callable[[object], tuple[object, ...]]) -> Callable[[object], int]:
    def __hash__(self: object) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _repr_of(names: Iterable[str]) -> Callable[[object], str]:
    def __repr__(self: object) -> str:  # noqa: N807
        shown = ", ".join(f"{name}={_short_repr(getattr(self, name))}" for name in names)
        return printable(f"{self.__class__.__qualname__}({shown})")

    return __repr__


def _short_repr(value: Any) -> str:
    """The `repr` of a value, with the first items of a long container."""
    kind = type(value)
    if kind in (str, bytes) and len(value) > MAX_SHOWN_LETTERS:
        return f"{value[:MAX_SHOWN_LETTERS]!r}… ({len(value):,} in all)"
    if kind not in _BRACKETS or not value:
        return repr(value)
    items = islice(value.items() if kind is dict else value, MAX_SHOWN_ITEMS)
    if kind is dict:
        texts = [f"{key!r}: {_short_repr(item)}" for key, item in items]
    else:
        texts = [_short_repr(item) for item in items]
    if len(value) > MAX_SHOWN_ITEMS:
        texts.append(f"… ({len(value):,} in all)")
    elif kind is tuple and len(value) == 1:
        texts.append("")
    opening, closing = _BRACKETS[kind]
    return f"{opening}{', '.join(texts).rstrip(' ')}{closing}"


def _refusals(cls: Any, names: frozenset[str]) -> dict[str, Callable[..., None]]:
    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _get_state(self: Any) -> list[object]:
    return [getattr(self, f.name) for f in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
