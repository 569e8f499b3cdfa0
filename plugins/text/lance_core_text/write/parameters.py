"""The arguments of a new index: those of its texts, and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.indices import InvertedIndexDetails
from lance_core_text.analyzers.lookup import analyzer_named
from lance_core_text.analyzers.parameters import CODE, TextParameters
from lance_core_text.write.encode_blocks import BLOCK_SIZE

DEFAULT_MEMORY = 512
"""MiB that a build may take for postings."""

_BYTES_PER_TERM = 64
"""Bytes that a term of a text takes while postings are sorted and encoded, about."""

_OWN = ("kind", "memory_limit", "num_workers", "format_version")


@dataclass(frozen=True, slots=True)
class BuildParameters:
    """``texts``: how texts become terms. ``memory_limit``: MiB for postings, see `max_terms`."""

    texts: TextParameters
    memory_limit: int = DEFAULT_MEMORY

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> BuildParameters:
        """The parameters that a user gives.

        Raises `InvalidInputError`, ``TypeError``, `PluginNotFoundError` for an analyzer, and
        `UnsupportedFeatureError` for other formats than 2.
        """
        texts = TextParameters.of(_with_analyzer(given))
        analyzer_named(texts.base_tokenizer)
        if texts.block_size != BLOCK_SIZE or given.get("format_version", 2) not in (2, "2", None):
            raise UnsupportedFeatureError(
                f"text indices of format {given.get('format_version', 2)} in blocks of "
                f"{texts.block_size} documents are not built: format 2 has {BLOCK_SIZE}"
            )
        memory = given.get("memory_limit")
        memory = DEFAULT_MEMORY if memory is None else memory
        if type(memory) is not int or memory < 1:
            raise InvalidInputError(f"memory_limit is a number of MiB from 1 on, got {memory!r}")
        return cls(texts, memory)

    @property
    def max_terms(self) -> int:
        """The terms of the texts of a partition, with repetitions: more begin another one."""
        return (self.memory_limit << 20) // _BYTES_PER_TERM

    def details(self) -> bytes:
        """The serialized details of the index."""
        texts = self.texts
        found = InvertedIndexDetails(
            base_tokenizer=texts.base_tokenizer,
            language=f'"{texts.language}"',
            with_position=texts.with_position,
            lower_case=texts.lower_case,
            stem=texts.stem,
            remove_stop_words=texts.remove_stop_words,
            ascii_folding=texts.ascii_folding,
            min_ngram_length=texts.min_ngram_length,
            max_ngram_length=texts.max_ngram_length,
            prefix_only=texts.prefix_only,
            block_size=BLOCK_SIZE,
            posting_format_version=2,
        )
        if texts.base_tokenizer == CODE:
            found.code_config.CopyFrom(
                InvertedIndexDetails.CodeTokenizerConfig(
                    split_identifiers=texts.split_identifiers,
                    split_on_numerics=texts.split_on_numerics,
                    preserve_original=texts.preserve_original,
                    index_operators=texts.index_operators,
                )
            )
        if texts.max_token_length is not None:
            found.max_token_length = texts.max_token_length
        data: bytes = found.SerializeToString()
        return data


def _with_analyzer(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of texts; pylance also has ``analyzer="code"`` for its base tokenizer."""
    texts = {name: value for name, value in given.items() if name not in _OWN}
    analyzer = texts.pop("analyzer", "text")
    if analyzer not in ("text", CODE):
        raise InvalidInputError(f"analyzer {analyzer!r} is neither 'text' nor 'code'")
    if analyzer == CODE and texts.setdefault("base_tokenizer", CODE) != CODE:
        raise InvalidInputError(f"analyzer 'code' with base_tokenizer {texts['base_tokenizer']!r}")
    return texts
