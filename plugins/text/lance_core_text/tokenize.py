"""`tokenize`: the terms of a query, without an index."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from lance_core.errors import InvalidInputError
from lance_core_text.analyzers.analyze import analyze
from lance_core_text.analyzers.parameters import CODE


class FtsToken(NamedTuple):
    """A term, and how many words of the text it is after the first term."""

    text: str
    position: int


def tokenize(  # noqa: PLR0913 (the arguments are those of pylance)
    query: str,
    *,
    analyzer: Literal["text", "code"] | None = None,
    base_tokenizer: str | None = None,
    language: str | None = None,
    max_token_length: int | None = 40,
    lower_case: bool | None = None,
    stem: bool | None = None,
    remove_stop_words: bool | None = None,
    custom_stop_words: list[str] | None = None,
    ascii_folding: bool | None = None,
    min_ngram_length: int | None = None,
    max_ngram_length: int | None = None,
    prefix_only: bool | None = None,
    split_identifiers: bool | None = None,
    split_on_numerics: bool | None = None,
    preserve_original: bool | None = None,
    index_operators: bool | None = None,
) -> list[FtsToken]:
    """The terms of ``query``, as a text index with these parameters has them.

    The arguments are those of a new index, by default its defaults; ``analyzer="code"`` is
    ``base_tokenizer="code"``. Raises `InvalidInputError`, ``TypeError``, and
    `PluginNotFoundError` if no plugin has the analyzer.
    """
    if analyzer not in (None, "text", CODE):
        raise InvalidInputError(f"analyzer is 'text' or 'code', got {analyzer!r}")
    options: dict[str, Any] = {
        "base_tokenizer": CODE if analyzer == CODE else base_tokenizer,
        "language": language,
        "lower_case": lower_case,
        "stem": stem,
        "remove_stop_words": remove_stop_words,
        "custom_stop_words": custom_stop_words,
        "ascii_folding": ascii_folding,
        "min_ngram_length": min_ngram_length,
        "max_ngram_length": max_ngram_length,
        "prefix_only": prefix_only,
        "split_identifiers": split_identifiers,
        "split_on_numerics": split_on_numerics,
        "preserve_original": preserve_original,
        "index_operators": index_operators,
    }
    options = {name: value for name, value in options.items() if value is not None}
    tokens = analyze(query, max_token_length=max_token_length, **options)
    first = tokens[0].position if tokens else 0
    return [FtsToken(token.term, token.position - first) for token in tokens]
