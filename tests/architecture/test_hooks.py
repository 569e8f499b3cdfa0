"""Every hook is documented, with its arguments, where a plugin author looks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

from lance_core.hookspecs import hooks as hookspecs
from tests.each_case import each_case

PAGE = Path(__file__).parents[2] / "docs" / "plugins" / "hooks.md"


def hooks() -> list[Callable[..., object]]:
    return [
        function
        for name, function in inspect.getmembers(hookspecs, inspect.isfunction)
        if name.startswith("lance_") and function.__module__ == hookspecs.__name__
    ]


def test_there_are_hooks() -> None:
    assert {"lance_object_stores", "lance_commit_handlers", "lance_encodings", "lance_kernels"} <= {
        hook.__name__ for hook in hooks()
    }


@each_case("hook", hooks(), ids=lambda hook: hook.__name__)
def test_a_hook_is_documented_with_its_arguments(hook: Callable[..., object]) -> None:
    assert inspect.getdoc(hook)
    arguments = ", ".join(inspect.signature(hook).parameters)
    assert f"## `{hook.__name__}({arguments})`" in PAGE.read_text("utf-8").splitlines()
