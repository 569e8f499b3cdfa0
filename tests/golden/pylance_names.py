"""The public names of pylance and of their arguments: a stored list, and how it is made.

Reading the list (`stored`) needs nothing else; making it (`of_installed`) needs pylance.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from tests.golden.archive import PYLANCE_NAMES

SAME_MODULES = ("commit", "file", "fragment", "progress", "schema")
"""Public modules with the name of one of pylance."""

CLASSES = ("LanceDataset", "LanceFragment", "LanceScanner", "FragmentMetadata")
"""Classes whose methods are compared."""

Arguments = list[str] | None
"""The names of a function's arguments, or None where they cannot be told: of a property, a class or
compiled code."""


@dataclass(frozen=True)
class PublicNames:
    """What pylance's users can name."""

    modules: list[str]
    """The modules of the package."""
    names: Mapping[str, list[str]]
    """For the package and each of `SAME_MODULES`: the names that it has, without modules."""
    arguments: Mapping[str, Arguments]
    """For each name of the package, and each ``Class.member`` of `CLASSES`."""


def stored() -> PublicNames:
    """The stored list."""
    return PublicNames(**json.loads(PYLANCE_NAMES.read_text("utf-8")))


def store(names: PublicNames) -> None:
    """Replace the stored list."""
    PYLANCE_NAMES.write_text(json.dumps(asdict(names), indent=1, sort_keys=True) + "\n", "utf-8")


def of_installed() -> PublicNames:
    """The names of the pylance that is installed."""
    import lance

    modules = {"lance": lance}
    modules |= {f"lance.{name}": importlib.import_module(f"lance.{name}") for name in SAME_MODULES}
    arguments = {name: parameters(getattr(lance, name)) for name in _values_of(lance)}
    for name in CLASSES:
        holder = getattr(lance, name, None) or getattr(lance.fragment, name)
        arguments |= {f"{name}.{member}": parameters(value) for member, value in public(holder)}
    return PublicNames(
        sorted(module.name for module in pkgutil.iter_modules(lance.__path__)),
        {name: _values_of(module) for name, module in modules.items()},
        arguments,
    )


def _values_of(module: object) -> list[str]:
    return [name for name, value in public(module) if not inspect.ismodule(value)]


def public(thing: object) -> Iterator[tuple[str, object]]:
    """The public members of a module or class, methods as they are stored."""
    for name in dir(thing):
        if not name.startswith("_"):
            yield name, inspect.getattr_static(thing, name)


def parameters(function: object) -> Arguments:
    """The names of a function's arguments, but for private ones."""
    bound = isinstance(function, classmethod)
    if isinstance(function, classmethod | staticmethod):
        function = function.__func__
    if not inspect.isfunction(function):
        return None
    variable = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    found = list(inspect.signature(function).parameters.values())[bound:]
    return [p.name for p in found if p.kind not in variable and not p.name.startswith("_")]
