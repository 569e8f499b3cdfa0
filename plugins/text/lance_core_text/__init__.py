"""Full-text search in Lance tables: `analyze` shows how texts become terms, `highlight` hits."""

from lance_core_text.analyzers.analyze import Token, analyze
from lance_core_text.highlight import Snippet, highlight

__all__ = ["Snippet", "Token", "analyze", "highlight"]
