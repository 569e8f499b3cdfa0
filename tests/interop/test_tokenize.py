"""`lance_core.tokenize` returns what pylance's does."""

from __future__ import annotations

from typing import Any

import lance
import pytest

import lance_core
from tests.each_case import each_case

TEXT = "The Hello worlds of RUNNING cafés fooBar bar_baz x2y a+b " + "w" * 60


@each_case(
    "options",
    [
        {},
        {"base_tokenizer": "whitespace", "stem": False, "lower_case": False},
        {"base_tokenizer": "raw", "max_token_length": None},
        {"base_tokenizer": "ngram", "min_ngram_length": 2, "max_ngram_length": 4},
        {"base_tokenizer": "ngram", "prefix_only": True},
        {"remove_stop_words": False, "ascii_folding": False, "max_token_length": None},
        {"custom_stop_words": ["hello"], "language": "French", "max_token_length": 6},
        {"analyzer": "code"},
        {"analyzer": "code", "split_identifiers": True, "index_operators": True},
        {"analyzer": "text"},
    ],
)
def test_tokens_are_those_of_pylance(options: dict[str, Any]) -> None:
    theirs = lance.tokenize(TEXT, **options)
    ours = lance_core.tokenize(TEXT, **options)
    assert [(t.text, t.position) for t in ours] == [(t.text, t.position) for t in theirs]
    assert ours


@each_case("options", [{"base_tokenizer": "nope"}, {"analyzer": "nope"}, {"language": "Klingon"}])
def test_unknown_names_are_refused_by_both(options: dict[str, Any]) -> None:
    for module in (lance, lance_core):
        with pytest.raises((ValueError, ImportError)):
            module.tokenize(TEXT, **options)
