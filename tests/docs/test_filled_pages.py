"""The pages show the code that is tested, and all that is needed to copy it."""

from __future__ import annotations

import ast
import builtins
import re

import pytest

from scripts.fill_pages import BLOCK, excerpt, stale_pages
from tests.docs.page_examples import PAGES, ROOT

MODULE = """
from __future__ import annotations

import os.path
from a_package.a_module import unused, used

X = 1
Y = X + 1


def fixture():
    return os.path.join("a", "b")


def other():
    return X


@used
def chosen(fixture):
    return Y
"""


def test_every_block_is_as_its_source() -> None:
    """`python scripts/fill_pages.py` fills them."""
    assert [page.relative_to(ROOT) for page, _ in stale_pages()] == []


def test_no_page_leaves_code_to_the_builder_of_the_documentation() -> None:
    assert [page for page in PAGES if "{literalinclude}" in page.read_text("utf-8")] == []


def test_an_excerpt_has_what_it_uses_and_no_more() -> None:
    text = excerpt(MODULE, ["chosen"])
    assert [ast.unparse(node).partition("\n")[0] for node in ast.parse(text).body] == [
        "from __future__ import annotations",
        "import os.path",
        "from a_package.a_module import used",
        "X = 1",
        "Y = X + 1",
        "def fixture():",
        "@used",
    ]


@pytest.mark.parametrize(
    "page", ["docs/plugins/write-a-plugin.md", "docs/plugins/write-a-storage-plugin.md"]
)
def test_shown_modules_import_what_they_use(page: str) -> None:
    shown = [m for m in BLOCK.finditer((ROOT / page).read_text("utf-8")) if ".py" in m["source"]]
    assert len(shown) >= 3
    for block in shown:
        code = re.sub(r"^```.*$", "", block[0].partition("-->")[2], flags=re.MULTILINE)
        assert undefined(code) == set(), block["source"]


def undefined(code: str) -> set[str]:
    """Names that a module reads and nothing in it defines, wherever."""
    defined, read = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            defined.add(node.name)
        elif isinstance(node, ast.Name):
            (defined if isinstance(node.ctx, ast.Store) else read).add(node.id)
    return read - defined
