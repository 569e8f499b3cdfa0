"""Writes the tables of the page about the public surface for plugins, or checks them.

A table stands between two comments, ``<!-- surface: MODULE -->`` and ``<!-- end -->``; the text
around the tables is written by hand. The names are those of ``__all__``, and what they mean is the
first sentence of their docstrings.

    python -m scripts.plugin_surface [--check]
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/plugin-surface.md"
TABLE = re.compile(r"(<!-- surface: (?P<module>[\w.]+) -->\n).*?(<!-- end -->)", re.DOTALL)

KINDS = (
    *("stores", "commits", "encodings", "indices", "searches", "analyzers", "file_versions"),
    *("functions", "kernels", "options", "concurrency", "arrays", "json_values", "native_loops"),
    *("stored_pages", "namespaces", "tools", "commands", "observers"),
)
"""The modules of `lance_core.hookspecs`."""

SURFACE = (
    "lance_core.hookspecs",
    *(f"lance_core.hookspecs.{kind}" for kind in KINDS),
    "lance_core.sql_functions",
    "lance_core.maintenance",
    "lance_core.commands",
    "lance_core.plugins",
    "lance_core.engines",
)
"""The modules that the page lists."""

PUBLIC = (
    *SURFACE,
    "lance_core",
    *(
        f"lance_core.{module}"
        for module in (
            *("arrow", "blob", "commit", "dataset", "debug", "errors", "file", "fragment"),
            *("indices", "namespace", "optimize", "progress", "pydantic", "query", "sampler"),
            *("schema", "torch.data", "udf", "util", "vector"),
        )
    ),
)
"""All modules that plugins may import."""

NAMES = {
    "lance_core.schema": {
        *("BLOB_KEY", "BLOB_V2", "LanceField", "LanceSchema"),
        *("format_path", "json_to_schema", "parse_path", "schema_to_json"),
    },
}
"""The public names of modules from which the core itself imports more."""


def names_of(module: str) -> set[str]:
    """The public names of a public module."""
    if module in NAMES:
        return NAMES[module]
    loaded = importlib.import_module(module)
    if hasattr(loaded, "__all__"):
        return set(loaded.__all__)
    classes = inspect.getmembers(loaded, inspect.isclass)
    return {name for name, value in classes if value.__module__ == module}


def listing() -> list[str]:
    """All public names, each with its module before it, sorted."""
    return sorted(f"{module}.{name}" for module in PUBLIC for name in names_of(module))


def meaning_of(module: str, name: str) -> str:
    """The first sentence about a name where it is defined; "" if there is none."""
    if module.startswith("lance_core._pb."):
        message = getattr(importlib.import_module(module), name)
        if isinstance(message, int):
            return "A number of the format, by the name that its messages have for it"
        return f"The message `{message.DESCRIPTOR.full_name}` of the format"
    body = _body(module)
    for statement, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(statement, ast.ClassDef | ast.FunctionDef) and statement.name == name:
            return _first_sentence(ast.get_docstring(statement) or "")
        if name in _assigned(statement):
            return _first_sentence(_text(following))
    for statement in body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return _imported(str(statement.module), alias.name)
    return ""


def _imported(module: str, name: str) -> str:
    """The meaning of what a module imports: a name of another module, or a module."""
    value = getattr(importlib.import_module(module), name)
    if inspect.ismodule(value):
        return _first_sentence(inspect.getdoc(value) or "")
    return meaning_of(module, name)


@cache
def _body(module: str) -> list[ast.stmt]:
    """The statements of a module, and of what it only does for type checkers."""
    path = inspect.getsourcefile(importlib.import_module(module))
    tree = ast.parse(Path(str(path)).read_text("utf-8"))
    nested = [node.body + node.orelse for node in tree.body if isinstance(node, ast.If)]
    return [*tree.body, *(statement for statements in nested for statement in statements)]


def _assigned(statement: ast.stmt) -> Iterator[str]:
    targets: Iterable[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = (statement.target,)
    for target in targets:
        yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _text(statement: ast.stmt) -> str:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return inspect.cleandoc(str(statement.value.value)) if is_text else ""


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    match = re.match(r".*?[.:](?=\s|$)", paragraph)
    sentence = (match[0] if match else paragraph).rstrip(".:")
    return re.sub(r"`+([^`]*)`+", r"`\1`", sentence).replace("|", "&#124;")


def with_tables(text: str) -> str:
    """The page with all tables written anew."""
    return TABLE.sub(lambda match: f"{match[1]}\n{_table(match['module'])}\n\n{match[3]}", text)


def _table(module: str) -> str:
    names = sorted(names_of(module), key=lambda name: (name.lower(), name))
    rows = (f"| `{name}` | {meaning_of(module, name)} |" for name in names)
    return "\n".join(["| Name | Meaning |", "| --- | --- |", *rows])


def main() -> int:
    """Write the page; with ``--check``, say whether it is up to date, and return 1 if not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    is_check = parser.parse_args().check
    text = PAGE.read_text("utf-8")
    filled = with_tables(text)
    if filled == text:
        return 0
    print(PAGE.name)
    if not is_check:
        PAGE.write_text(filled, "utf-8")
    return 1 if is_check else 0


if __name__ == "__main__":
    sys.exit(main())
