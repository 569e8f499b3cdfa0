"""What pylance has and this library lacks is listed, each with the reason.

Modules, names, members of classes, arguments and defaults are compared with the stored list of
pylance's. A line of `pylance_gaps.txt` is a module, a name, an argument ``function(argument)``, or
a default ``function(argument=default)``, all of pylance; the comment above it is the reason.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lance_core.dataset import arguments as of_tables
from lance_core.dataset.values import compaction as of_compactions
from lance_core.dataset.write import write as of_writes
from lance_core.errors import PluginLoadError, PluginNotFoundError
from tests.golden.pylance_names import Arguments, parameters, shown, stored

LISTING = Path(__file__).with_name("pylance_gaps.txt")

MAX_GAPS = 97
"""The number of lines of the listing; it only goes down."""

UNKNOWN = object()


def test_what_pylance_has_and_this_library_lacks_is_listed() -> None:
    assert sorted(gaps()) == sorted(listed())


def test_every_gap_has_a_reason_and_their_number_goes_down() -> None:
    assert len(listed()) == MAX_GAPS
    for paragraph in LISTING.read_text("utf-8").strip().split("\n\n"):
        assert paragraph.startswith("# ")
        assert len(paragraph.splitlines()) > 1, paragraph


def listed() -> list[str]:
    lines = LISTING.read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def gaps() -> Iterator[str]:
    """The lines that the listing must have."""
    pylance = stored()
    for module, names in pylance.names.items():
        try:
            ours = importlib.import_module(module.replace("lance", "lance_core", 1))
        except ModuleNotFoundError:
            yield module
            continue
        yield from (f"{module}.{name}" for name in names if member(ours, name) is None)
    for path, theirs in pylance.arguments.items():
        if (ours := resolved(path)) is None:
            yield path
        elif ours is not UNKNOWN:
            yield from differences(path, theirs, ours)


def resolved(path: str) -> Any:
    """What this library has at a path of pylance.

    None if a class has no such member, `UNKNOWN` if there is no such class or function.
    """
    modules = stored().names
    module = next(m for m in sorted(modules, key=len, reverse=True) if path.startswith(f"{m}."))
    try:
        holder: Any = importlib.import_module(module.replace("lance", "lance_core", 1))
    except ModuleNotFoundError:
        return UNKNOWN
    name, _, attribute = path.removeprefix(f"{module}.").partition(".")
    value = member(holder, name)
    if value is None or (attribute and not inspect.isclass(value)):
        return UNKNOWN
    # The classes that make their methods at their first use have those of a data class.
    is_made = attribute == "__init__" and hasattr(value, "__dataclass_fields__")
    return value if is_made or not attribute else member(value, attribute)


def member(holder: Any, name: str) -> Any:
    """A member as it is stored; None if there is none, `UNKNOWN` if its value is not known here."""
    try:
        if not hasattr(holder, name):
            classes = getattr(holder, "__mro__", ())
            fields = {key for each in classes for key in getattr(each, "__annotations__", ())}
            return UNKNOWN if name in fields else None
        value = inspect.getattr_static(holder, name, None)
        value = getattr(holder, name) if value is None else value
        return UNKNOWN if value is None else value
    except (PluginLoadError, PluginNotFoundError):
        return UNKNOWN  # that of a plugin which, or whose library, is not installed


def differences(path: str, theirs: Arguments, function: Any) -> Iterator[str]:
    """The arguments that a function lacks, and those with another default."""
    is_class = inspect.isclass(function)
    ours = shown(inspect.signature(function)) if is_class else parameters(function)
    if theirs is None or ours is None:
        return
    path = path.removesuffix(".__init__")
    defaults = dict(argument.partition("=")[::2] for argument in ours)
    further = keywords(function)
    for argument in theirs:
        name, _, default = argument.partition("=")
        if name in defaults:
            # What pylance requires may have a default here.
            if defaults[name] != default and default:
                yield f"{path}({argument})"
        elif name != "self" and name not in further:
            yield f"{path}({name})"


def keywords(function: Any) -> set[str]:
    """The further keyword arguments, by the type that the function's annotation names."""
    annotations = getattr(getattr(function, "__func__", function), "__annotations__", {})
    names = re.findall(r"Unpack\[(\w+)\]", " ".join(map(str, annotations.values())))
    types = (getattr(m, n, None) for n in names for m in (of_tables, of_writes, of_compactions))
    return {key for each in types if each is not None for key in each.__annotations__}
