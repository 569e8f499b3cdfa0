"""Fills the blocks of the documentation that show tested code, or checks that they are filled.

A block is filled from what the comment right above it names: a file of the repository, objects of
a module with everything that they use there, or a file that ``lance-core new-plugin`` writes::

    <!-- shown: tests/example_webdav/pyproject.toml -->
    <!-- shown: tests/conformance/test_example_webdav.py TestWebdav -->
    <!-- run: new-plugin copy handler lance_core_copy/handler.py -->

``run`` blocks are also run with the other examples of their page; ``shown`` ones are tested where
they come from. The text stands in the pages, so that it can be read and copied on a web page of
the repository.

    python scripts/fill_pages.py [--check]
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from lance_core_testing.new_plugin import render

ROOT = Path(__file__).parents[1]
PAGES = ("docs/**/*.md", "plugins/*/README.md", "README.md")
BLOCK = re.compile(
    r"(?P<comment><!-- (?:shown|run): (?P<source>[^\n]*?) -->\n)```\w*\n.*?^```$",
    re.DOTALL | re.MULTILINE,
)
LANGUAGES = {".py": "python", ".toml": "toml", ".md": "markdown"}
MAX_LINE = 100


def main() -> int:
    """Fill all pages; with ``--check``, say which ones are not filled, and return 1 if any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    is_check = parser.parse_args().check
    stale = list(stale_pages())
    for page, text in stale:
        print(page.relative_to(ROOT))
        if not is_check:
            page.write_text(text, "utf-8")
    return 1 if stale and is_check else 0


def stale_pages() -> Iterator[tuple[Path, str]]:
    """The pages whose blocks differ from their sources, with the text that they should have."""
    for page in sorted(path for pattern in PAGES for path in ROOT.glob(pattern)):
        text = page.read_text("utf-8")
        filled = BLOCK.sub(_filled, text)
        if filled != text:
            yield page, filled


def _filled(block: re.Match[str]) -> str:
    suffix, content = _content(block["source"])
    if "```" in content:
        raise ValueError(f"{block['source']} holds what ends a block")
    return f"{block['comment']}```{LANGUAGES[suffix]}\n{content.strip()}\n```"


def _content(source: str) -> tuple[str, str]:
    """Suffix and text of what a comment names."""
    path, *names = source.split()
    if path == "new-plugin":
        name, kind, file = names
        return Path(file).suffix, render(name, kind)[file]
    text = (ROOT / path).read_text("utf-8")
    return Path(path).suffix, excerpt(text, names) if names else text


def excerpt(module: str, names: list[str]) -> str:
    """The objects called ``names`` with the imports and definitions of the module that they use."""
    tree = ast.parse(module)
    definitions = {name: node for node in tree.body for name in _defined(node)}
    wanted, seen = list(names), set()
    while wanted:
        name = wanted.pop()
        if name not in seen:
            seen.add(name)
            wanted += _used(definitions[name]) if name in definitions else []
    text, before = "", None
    for node in tree.body:
        if chosen := _chosen(module, node, seen):
            text += f"{_gap(module, before, node)}{chosen}"
            before = node
    return text


def _chosen(module: str, node: ast.stmt, seen: set[str]) -> str:
    """What of a statement belongs to an excerpt; "" if nothing does."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _import_of(node, seen)
    return _source(module, node) if seen.intersection(_defined(node)) else ""


def _gap(module: str, before: ast.stmt | None, node: ast.stmt) -> str:
    """The empty lines between two statements of an excerpt."""
    if before is None:
        return ""
    if isinstance(before, ast.Assign) and isinstance(node, ast.Assign):
        return "\n"
    if isinstance(node, ast.Import | ast.ImportFrom):
        between = module.splitlines()[(before.end_lineno or 0) : node.lineno - 1]
        return "\n\n" if "" in between else "\n"
    return "\n\n" if isinstance(node, ast.Assign) else "\n\n\n"


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _used(node: ast.AST) -> list[str]:
    """Names in a definition, those of its arguments, which may be fixtures, included."""
    inner = list(ast.walk(node))
    own = {n.name for n in inner if isinstance(n, ast.FunctionDef)}
    arguments = {n.arg for n in inner if isinstance(n, ast.arg)}
    names = {n.id for n in inner if isinstance(n, ast.Name)}
    return [*(arguments - own), *(names - arguments)]


def _import_of(node: ast.Import | ast.ImportFrom, used: set[str]) -> str:
    """The part of an import statement that brings names which are used."""
    aliases = [a for a in node.names if (a.asname or a.name.partition(".")[0]) in used]
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        aliases = node.names
    if not aliases:
        return ""
    node.names = aliases
    text = ast.unparse(node)
    if len(text) > MAX_LINE:
        head, _, tail = text.partition(" import ")
        text = f"{head} import (\n" + "".join(f"    {n},\n" for n in tail.split(", ")) + ")"
    return text


def _source(module: str, node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(module.splitlines()[first - 1 : node.end_lineno])


if __name__ == "__main__":
    sys.exit(main())
