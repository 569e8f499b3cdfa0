"""Check factories without calling them, for ``lance-core plugins --check``."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import TypeAlias

from lance_core.command_spec import CommandSpec
from lance_core.commits.base import CommitHandlerSpec, ManifestStoreSpec
from lance_core.errors import PluginLoadError
from lance_core.function_spec import SqlFunctionSpec
from lance_core.imports.provided_names import ToolSpec
from lance_core.index.spec import AnalyzerSpec, IndexTypeSpec, SearchSpec
from lance_core.plugins.factories import shown_error
from lance_core.store.namespaces import NamespaceSpec
from lance_core.store.spec import ObjectStoreSpec, resolve_factory

Spec: TypeAlias = (
    ObjectStoreSpec
    | CommitHandlerSpec
    | ManifestStoreSpec
    | IndexTypeSpec
    | SearchSpec
    | AnalyzerSpec
    | ToolSpec
    | CommandSpec
    | NamespaceSpec
    | SqlFunctionSpec
)
"""A descriptor with a factory or, of a function, a planner."""


def problem_of(spec: Spec) -> str | None:
    """The reason why the factory of ``spec`` cannot be called, or None.

    The factory is imported and its signature is checked; it is not called.
    """
    if isinstance(spec, ToolSpec):
        path: Callable[..., object] | str = spec.path
    else:
        path = spec.plan if isinstance(spec, SqlFunctionSpec) else spec.factory
    try:
        factory = resolve_factory(path, repr(spec.name))
    except PluginLoadError as error:
        return str(error)
    except Exception as error:
        return f"{path!r} cannot be imported: {shown_error(error, ())}"
    for count in _numbers_of_arguments(spec):
        try:
            signature(factory).bind(*[None] * count)
        except TypeError as error:
            return f"it is called with {count} arguments: {error}"
        except ValueError:
            return None  # compiled code has no signature
    return None


def _numbers_of_arguments(spec: Spec) -> tuple[int, ...]:
    """The numbers of arguments with which a factory is called; of those that vary, the extremes."""
    if isinstance(spec, ToolSpec | NamespaceSpec):
        return ()
    if isinstance(spec, SqlFunctionSpec):
        least, most, _ = spec.shape
        return (least, least + 1 if most is None else most)
    if isinstance(spec, IndexTypeSpec | SearchSpec | AnalyzerSpec | CommandSpec):
        return (0,)
    return (4 if isinstance(spec, CommitHandlerSpec) else 2,)
