"""The built-in plugin: stores, handlers, encodings, file versions, kernels, and SQL functions.

They use the same hooks as all other plugins.
"""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.command_spec import CommandSpec
from lance_core.commits.base import CommitHandlerSpec
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.handlers.rename import RenameCommitHandler
from lance_core.commits.handlers.unsafe import UnsafeCommitHandler
from lance_core.encodings import v2_0
from lance_core.encodings.kernels import NUMPY_KERNELS, KernelSpec
from lance_core.encodings.registry import EncodingSpec
from lance_core.encodings.v2_1.codecs import builtin as codecs
from lance_core.encodings.version import FORMAT_VERSIONS, FileVersionSpec
from lance_core.function_spec import SqlFunctionSpec
from lance_core.hookspecs.hooks import hookimpl
from lance_core.imports.on_demand import import_module
from lance_core.store import memory
from lance_core.store.local import store as local
from lance_core.store.spec import ObjectStoreSpec


@hookimpl
def lance_object_stores() -> Iterable[ObjectStoreSpec]:
    """Stores of local files and of memory."""
    return [
        ObjectStoreSpec(
            name="file",
            schemes=("file",),
            factory=local.open_local,
            capabilities=local.CAPABILITIES,
            options=frozenset({"durability"}),
            ignores_options_of_others=True,
        ),
        ObjectStoreSpec(
            name="memory",
            schemes=("memory",),
            factory=memory.open_memory,
            capabilities=memory.CAPABILITIES,
            options=frozenset(),
            ignores_options_of_others=True,
        ),
    ]


@hookimpl
def lance_commit_handlers() -> Iterable[CommitHandlerSpec]:
    """Handlers that commit by put-if-absent, by rename-if-absent, and with neither guarantee."""
    return [
        CommitHandlerSpec(
            name="put-if-absent",
            factory=lambda store, _url, _options, environment: PutIfAbsentCommitHandler(
                store, environment
            ),
            requires=frozenset({"put_if_absent", "strong_reads"}),
            rank=100,
        ),
        CommitHandlerSpec(
            name="rename",
            factory=lambda store, _url, _options, environment: RenameCommitHandler(
                store, environment
            ),
            requires=frozenset({"rename_if_absent", "strong_reads"}),
            rank=50,
        ),
        CommitHandlerSpec(
            name="unsafe",
            factory=lambda store, _url, _options, environment: UnsafeCommitHandler(
                store, environment
            ),
            multi_writer=False,
        ),
    ]


@hookimpl
def lance_encodings() -> Iterable[EncodingSpec]:
    """The encodings of file version 2.0, and the compressive encodings of 2.1 and 2.2."""
    return [*v2_0.specs(import_module), *codecs.specs()]


@hookimpl
def lance_file_versions() -> Iterable[FileVersionSpec]:
    """The file versions 2.0, 2.1 and 2.2."""
    return FORMAT_VERSIONS


@hookimpl
def lance_kernels() -> Iterable[KernelSpec]:
    """Implementations of all inner loops with numpy and Arrow."""
    return [NUMPY_KERNELS]


_OPERATORS = "lance_core.dataset.expressions.sql.operators"


@hookimpl
def lance_sql_functions() -> Iterable[SqlFunctionSpec]:
    """The functions that SQL defines by CASE, and regexp_like, which is the operator ``~``."""
    return [
        SqlFunctionSpec(
            name="coalesce",
            plan=f"{_OPERATORS}.conditional:coalesce",
            parameters="any, ...",
            summary="The first value that is not NULL.",
            group="any type",
            infers_nullable=True,
        ),
        SqlFunctionSpec(
            name="nullif",
            plan=f"{_OPERATORS}.conditional:nullif",
            parameters="any, any",
            summary="NULL where both values are equal, else the first.",
            group="any type",
        ),
        SqlFunctionSpec(
            name="regexp_like",
            plan=f"{_OPERATORS}.regexp:regexp_like",
            parameters="text, text*, [text]",
            summary="True if the text contains a match of the pattern. Flags: `i`, `s`, `m`, `U`,"
            " `x`.",
            group="text",
            infers_nullable=True,
        ),
    ]


@hookimpl
def lance_commands() -> Iterable[CommandSpec]:
    """Commands about plugins."""
    return [
        CommandSpec(
            name="plugins",
            summary="what is installed, and what failed to load",
            factory="lance_core.commands.list_plugins:ListPlugins",
        ),
        CommandSpec(
            name="new-plugin",
            summary="write the package of a plugin, with its tests",
            factory="lance_core.commands.new_plugin:NewPlugin",
        ),
    ]
