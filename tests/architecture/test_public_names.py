"""The public interface has pylance's names where it does the same, and every name is documented."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Iterator

import lance

import lance_core
from tests.each_case import each_case

SAME_MODULES = ["commit", "file", "fragment", "progress", "schema"]
"""Public modules with the name of one of pylance."""

OUR_OWN = {
    "errors",  # typed errors; pylance raises OSError and ValueError
}

CLASSES = ["LanceDataset", "LanceFragment", "LanceScanner", "FragmentMetadata"]


def public(thing: object) -> Iterator[tuple[str, object]]:
    for name in dir(thing):
        if not name.startswith("_"):
            yield name, inspect.getattr_static(thing, name)


def parameters(function: object) -> list[str] | None:
    """Names of arguments, or None where they cannot be told (compiled code)."""
    bound = isinstance(function, classmethod)
    if isinstance(function, classmethod | staticmethod):
        function = function.__func__
    if not inspect.isfunction(function):
        return None
    kinds = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    found = list(inspect.signature(function).parameters.values())[bound:]
    return [p.name for p in found if p.kind not in kinds and not p.name.startswith("_")]


def shared_functions() -> Iterator[tuple[str, object, object]]:
    for name in lance_core.__all__:
        if hasattr(lance, name):
            yield name, getattr(lance_core, name), getattr(lance, name)
    for name in CLASSES:
        ours, theirs = getattr(lance_core, name), getattr(lance, name, None)
        theirs = theirs or getattr(lance.fragment, name)
        for method, value in public(ours):
            if hasattr(theirs, method):
                yield f"{name}.{method}", value, inspect.getattr_static(theirs, method)


def test_a_public_name_is_one_of_pylance() -> None:
    modules = [lance, *(importlib.import_module(f"lance.{module}") for module in SAME_MODULES)]
    unknown = [
        name
        for name in sorted(set(lance_core.__all__) - OUR_OWN)
        if not any(hasattr(module, name) for module in modules)
        and importlib.util.find_spec(f"lance.{name}") is None
    ]
    assert unknown == []


def test_arguments_have_the_names_and_the_order_of_pylance() -> None:
    compared, different = 0, {}
    for function, ours, theirs in shared_functions():
        known, mine = parameters(theirs), parameters(ours)
        if known is None or mine is None:
            continue  # no arguments to compare: a property, a class or compiled code
        compared += 1
        if mine != [name for name in known if name in mine]:
            different[function] = mine
    assert different == {}
    assert compared > 50


@each_case("module", ["lance_core", "lance_core.commit", "lance_core.errors", "lance_core.file"])
def test_every_public_name_says_what_it_is(module: str) -> None:
    holder = importlib.import_module(module)
    names = getattr(holder, "__all__", None) or [
        name
        for name, value in public(holder)
        if inspect.isclass(value) and value.__module__ == module
    ]
    assert names
    silent = []
    for name in names:
        thing = getattr(holder, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            silent += [] if inspect.getdoc(thing) else [name]
        if inspect.isclass(thing):
            silent += [
                f"{name}.{member}"
                for member, value in public(thing)
                if isinstance(value, property | classmethod | staticmethod)
                or inspect.isfunction(value)
                if not inspect.getdoc(getattr(thing, member))
            ]
    assert silent == []
