"""Full-text search in Lance tables; `lance_core_text.analyze` shows how texts become terms."""

from lance_core_text.analyzers.analyze import Token, analyze

__all__ = ["Token", "analyze"]
