"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.hookspecs import hookimpl
from lance_core.hookspecs.analyzers import AnalyzerSpec


@hookimpl
def lance_analyzers() -> Iterable[AnalyzerSpec]:
    """The analyzers of the format that need no dictionary."""
    return (
        AnalyzerSpec(name="ngram", factory="lance_core_text.analyzers.ngrams:NgramAnalyzer"),
        AnalyzerSpec(name="raw", factory="lance_core_text.analyzers.raw:RawAnalyzer"),
        AnalyzerSpec(name="simple", factory="lance_core_text.analyzers.runs:SimpleAnalyzer"),
        AnalyzerSpec(
            name="whitespace", factory="lance_core_text.analyzers.runs:WhitespaceAnalyzer"
        ),
    )
