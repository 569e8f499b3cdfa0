"""The public interface has pylance's names where it does the same, and every name is documented."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import lance_core
from tests.each_case import each_case
from tests.golden.pylance_names import Arguments, parameters, public, stored

CLASSES = ("LanceDataset", "LanceFragment", "LanceScanner", "FragmentMetadata")
"""Classes whose methods are compared."""

OUR_OWN = {
    "install_as_lance",  # pylance needs no other name
    "errors",  # typed errors; pylance raises OSError and ValueError
}


def test_a_public_name_is_one_of_pylance() -> None:
    pylance = stored()
    theirs = {*pylance.modules, *(name for names in pylance.names.values() for name in names)}
    ours = {name for name in lance_core.__all__ if not name.startswith("_")}
    assert ours - OUR_OWN - theirs == set()


def test_type_checkers_see_every_public_name() -> None:
    tree = ast.parse(Path(lance_core.__file__).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in imports for alias in node.names]
    assert sorted(names) == sorted(lance_core.__all__)


def names_of(arguments: Arguments) -> Arguments:
    return None if arguments is None else [argument.partition("=")[0] for argument in arguments]


def keyword_only(function: object) -> set[str]:
    """The arguments of a function that have no place."""
    function = getattr(function, "__func__", function)
    assert callable(function)
    kinds = inspect.signature(function).parameters.values()
    return {each.name for each in kinds if each.kind is each.KEYWORD_ONLY}


def test_arguments_have_the_names_and_the_order_of_pylance() -> None:
    compared, different = 0, {}
    theirs = {name.removeprefix("lance."): value for name, value in stored().arguments.items()}
    ours: dict[str, object] = {name: getattr(lance_core, name) for name in lance_core.__all__}
    for name in CLASSES:
        ours |= {f"{name}.{key}": value for key, value in public(getattr(lance_core, name))}
    for function, value in ours.items():
        known, mine = names_of(theirs.get(function)), names_of(parameters(value))
        if known is None or mine is None:
            continue  # no arguments to compare: a property, a class or compiled code
        mine = [name for name in mine if name not in keyword_only(value)]
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
