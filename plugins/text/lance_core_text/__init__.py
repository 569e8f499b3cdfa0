"""Full-text search in Lance tables: `analyze` shows how texts become terms, `highlight` hits."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core_text.analyzers.analyze import Token, analyze
    from lance_core_text.snippets import Snippet, highlight

__all__ = ["Snippet", "Token", "analyze", "highlight"]


def __getattr__(name: str) -> object:
    # The plugin lookup imports this package in every process, and most of them search no texts.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lance_core_text import snippets
    from lance_core_text.analyzers import analyze as analysis

    return getattr(snippets if name in ("Snippet", "highlight") else analysis, name)
