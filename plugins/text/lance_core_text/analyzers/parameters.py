"""`TextParameters`: how an index splits texts and makes terms of the words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError
from lance_core.hookspecs.options import did_you_mean, shortened

CODE = "code"
"""The analyzer of programs."""

LANGUAGES = frozenset(
    {
        *("Arabic", "Danish", "Dutch", "English", "Finnish", "French", "German", "Greek"),
        *("Hungarian", "Italian", "Norwegian", "Portuguese", "Romanian", "Russian", "Spanish"),
        *("Swedish", "Tamil", "Turkish"),
    }
)
"""The languages with stems. Tamil has no stop words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextParameters:
    """The parameters of an index, by the names in its metadata.

    ``lance_tokenizer``: ``"json"`` if documents are JSON, see `analyze_documents`, which their
    column says; else ``"text"``. ``base_tokenizer``: the name of the analyzer.
    ``max_token_length``: words of at least so many bytes are dropped; None keeps all. Then, in this
    order: ``lower_case``, ``stem`` by the rules of ``language``, ``remove_stop_words`` drops the
    stop words of the language, or ``custom_stop_words`` instead, and ``ascii_folding`` replaces
    letters with accents and the like.
    ``min_ngram_length``, ``max_ngram_length`` and ``prefix_only`` are those of the analyzer
    ``ngram``; the four ones from ``split_identifiers`` on are those of ``code``.
    ``with_position``: the index stores where each word is, which phrases need. ``block_size``: the
    documents of a block of an index.
    """

    lance_tokenizer: str | None = "text"
    base_tokenizer: str = "simple"
    language: str = "English"
    with_position: bool = False
    max_token_length: int | None = 40
    lower_case: bool = True
    stem: bool = True
    remove_stop_words: bool = True
    custom_stop_words: tuple[str, ...] | None = None
    ascii_folding: bool = True
    min_ngram_length: int = 3
    max_ngram_length: int = 3
    prefix_only: bool = False
    block_size: int = 128
    split_identifiers: bool = False
    split_on_numerics: bool = False
    preserve_original: bool = False
    index_operators: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> TextParameters:
        """The parameters that a user gives; the others have their defaults.

        Raises ``TypeError`` for unknown names, `InvalidInputError` for invalid values.
        """
        for name in options:
            if name not in _GIVEN:
                raise InvalidTypeError(
                    f"unknown parameter {shortened(name)} of analyzers{did_you_mean(name, _GIVEN)}"
                )
        analyzer = options.get("base_tokenizer")
        defaults = cls()
        if analyzer in ("ngram", CODE):
            defaults = replace(defaults, stem=False, remove_stop_words=False)
        if analyzer == CODE:
            defaults = replace(defaults, split_on_numerics=True, preserve_original=True)
        elif options.get("split_identifiers") or options.get("index_operators"):
            raise InvalidInputError(
                f"split_identifiers and index_operators are of base_tokenizer={CODE!r}"
            )
        return replace(defaults, **options).checked()

    @classmethod
    def from_json(cls, text: str) -> TextParameters:
        """The parameters in the metadata of an index; raises `InvalidInputError`.

        Unknown ones are refused: they may decide what the words are.
        """
        try:
            stored = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"parameters are not JSON: {error}") from None
        if not isinstance(stored, dict):
            raise InvalidInputError("parameters are not a JSON object")
        unknown = sorted(set(stored) - _NAMES)
        if unknown:
            raise UnsupportedFeatureError(f"parameters {', '.join(unknown)} of a text index")
        stop_words = stored.get("custom_stop_words")
        if isinstance(stop_words, list):
            stored["custom_stop_words"] = tuple(stop_words)
        return replace(cls(), **stored).checked()

    def to_json(self) -> str:
        """The text in the metadata of an index."""
        return json.dumps({field.name: getattr(self, field.name) for field in fields(self)})

    def as_mapping(self) -> Mapping[str, Any]:
        """The parameters by name, as analyzers get them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def checked(self) -> TextParameters:
        """The same parameters with a tuple of stop words; raises `InvalidInputError`."""
        for field in fields(self):
            _check_type(field.name, getattr(self, field.name))
        own = self
        if self.custom_stop_words is not None:
            own = replace(self, custom_stop_words=tuple(self.custom_stop_words))
        if own.language not in LANGUAGES:
            raise InvalidInputError(
                f"language {shortened(own.language)} is none of {', '.join(sorted(LANGUAGES))}"
                f"{did_you_mean(own.language, LANGUAGES)}"
            )
        if not 1 <= own.min_ngram_length <= own.max_ngram_length <= 1 << 10:
            raise InvalidInputError(
                "min_ngram_length is at least 1 and at most max_ngram_length, got "
                f"{own.min_ngram_length} and {own.max_ngram_length}"
            )
        if own.max_token_length is not None and own.max_token_length < 0:
            raise InvalidInputError(f"max_token_length is negative: {own.max_token_length}")
        return own


_NAMES = frozenset(field.name for field in fields(TextParameters))
_GIVEN = _NAMES - {"lance_tokenizer"}

_TYPES: Mapping[str, tuple[type, ...]] = {
    "lance_tokenizer": (str, type(None)),
    "base_tokenizer": (str,),
    "language": (str,),
    "max_token_length": (int, type(None)),
    "custom_stop_words": (list, tuple, type(None)),
    "min_ngram_length": (int,),
    "max_ngram_length": (int,),
    "block_size": (int,),
}
"""The types of the parameters that are not booleans."""


def _check_type(name: str, value: object) -> None:
    expected = _TYPES.get(name, (bool,))
    is_bool = isinstance(value, bool)
    if not isinstance(value, expected) or (is_bool and bool not in expected):
        names = " or ".join(expected_type.__name__ for expected_type in expected)
        raise InvalidTypeError(f"{name} must be {names}, got {value!r}")
    if isinstance(value, (list, tuple)) and not all(isinstance(word, str) for word in value):
        raise InvalidTypeError(f"custom_stop_words must be strings, got {value!r}")
