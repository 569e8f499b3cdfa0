"""The public names of pylance, and their arguments: a stored list, and how it is made.

Reading the list (`stored`) needs nothing else; making it (`of_installed`) needs pylance.
"""

from __future__ import annotations

import ast
import gzip
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import ModuleType

from tests.golden.archive import PYLANCE_NAMES

WITH_OTHER_LIBRARIES = {"conftest", "download", "hf", "namespace", "otel", "torch"}
"""Modules that cannot be imported without libraries that pylance does not require."""

Arguments = list[str] | None
"""A function's arguments, "name" or "name=default"; None where they cannot be told: of a property,
a class or compiled code."""


@dataclass(frozen=True)
class PublicNames:
    """What pylance's users can name."""

    modules: list[str]
    """The modules of the package."""
    names: Mapping[str, list[str]]
    """For the package and each of its modules: the names that are its own, or of another module of
    the package, without modules."""
    arguments: Mapping[str, Arguments]
    """For each function, and each member of a class, by the first module in ``names`` that has it:
    ``lance.dataset`` or ``lance.LanceDataset.take``."""


def stored() -> PublicNames:
    """The stored list."""
    return PublicNames(**json.loads(gzip.decompress(PYLANCE_NAMES.read_bytes())))


def store(names: PublicNames) -> None:
    """Replace the stored list."""
    text = json.dumps(asdict(names), indent=1, sort_keys=True)
    PYLANCE_NAMES.write_bytes(gzip.compress(text.encode(), mtime=0))


def of_installed() -> PublicNames:
    """The names of the pylance that is installed."""
    import lance

    modules = sorted(module.name for module in pkgutil.iter_modules(lance.__path__))
    known = [name for name in modules if name[0] != "_" and name not in WITH_OTHER_LIBRARIES]
    holders = {"lance": lance}
    holders |= {f"lance.{name}": importlib.import_module(f"lance.{name}") for name in known}
    names = {name: _own_names(holder) for name, holder in holders.items()}
    arguments: dict[str, Arguments] = {}
    seen: set[int] = set()
    for module, holder in holders.items():
        for name in names[module]:
            value = getattr(holder, name)
            if id(value) not in seen:
                seen.add(id(value))
                arguments |= arguments_of(f"{module}.{name}", value)
    return PublicNames(modules, names, arguments)


def _own_names(module: ModuleType) -> list[str]:
    """The names that a module defines, or has from another module of pylance."""
    source = inspect.getsource(module) if module.__name__ != "lance.lance" else ""
    assigned = {
        node.id
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    # By identity: some have another name there.
    compiled = set(map(id, vars(importlib.import_module("lance.lance")).values()))
    listed = assigned | set(getattr(module, "__all__", ()))
    return [
        name
        for name, value in public(module)
        if not inspect.ismodule(value)
        if name in listed
        or id(value) in compiled
        or (getattr(value, "__module__", None) or "").startswith("lance")
    ]


def public(thing: object) -> Iterator[tuple[str, object]]:
    """The public members of a module or class, methods as they are stored."""
    for name in dir(thing):
        if not name.startswith("_"):
            yield name, inspect.getattr_static(thing, name)


def arguments_of(name: str, value: object) -> dict[str, Arguments]:
    """The arguments of a function, or of a class and its members, by their full names."""
    if not inspect.isclass(value):
        return {name: parameters(value)}
    members = {"__init__": inspect.getattr_static(value, "__init__"), **dict(public(value))}
    return {f"{name}.{key}": parameters(member) for key, member in members.items()}


def parameters(function: object) -> Arguments:
    """The arguments of a function, but for private ones."""
    bound = isinstance(function, classmethod)
    if isinstance(function, classmethod | staticmethod):
        function = function.__func__
    return shown(inspect.signature(function))[bound:] if inspect.isfunction(function) else None


def shown(signature: inspect.Signature) -> list[str]:
    """The arguments of a signature that have names, but for private ones."""
    variable = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    named = [p for p in signature.parameters.values() if p.kind not in variable]
    return [_shown(p) for p in named if not p.name.startswith("_")]


def _shown(parameter: inspect.Parameter) -> str:
    default = parameter.default
    if default is inspect.Parameter.empty:
        return parameter.name
    plain = isinstance(default, bool | int | float | str | list | tuple | dict | None)
    return (
        f"{parameter.name}={default!r}" if plain else f"{parameter.name}={type(default).__name__}"
    )
