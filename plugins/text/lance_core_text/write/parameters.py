"""The arguments of a new index: those of its texts, and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.indices import InvertedIndexDetails
from lance_core_text.analyzers.lookup import analyzer_named
from lance_core_text.analyzers.parameters import CODE, TextParameters
from lance_core_text.postings.index_files import SORTED_COLUMN, TRANSDUCER
from lance_core_text.write.posting_format import BLOCK_SIZES, PostingFormat

DEFAULT_MEMORY = 512
"""MiB that a build may take beside documents."""

_BYTES_PER_TERM = 64
"""Bytes that a term of a text takes while postings are sorted and encoded, about."""

FORMATS = {**{str(n): n for n in BLOCK_SIZES}, **{f"v{n}": n for n in BLOCK_SIZES}}
"""The formats of postings, by the names that users may give."""

_OWN = (
    "kind",
    "memory_limit",
    "num_workers",
    "format_version",
    "document_granularity",
    "token_set_format",
)


@dataclass(frozen=True, slots=True)
class BuildParameters:
    """How an index is built.

    ``texts``: how texts become terms. ``format_number``: the format of postings. ``memory_limit``:
    MiB for terms and postings, half of it while texts are read, and half for runs. ``token_set``:
    how terms are stored. ``by_element``: each element of a list is a document, not each row.
    """

    texts: TextParameters
    format_number: int = 2
    memory_limit: int = DEFAULT_MEMORY
    token_set: str = SORTED_COLUMN
    by_element: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> BuildParameters:
        """The parameters that a user gives.

        Raises `InvalidInputError`, ``TypeError``, and `PluginNotFoundError` for an analyzer.
        """
        by_element = _is_by_element(options.get("document_granularity"))
        texts = TextParameters.of(_with_analyzer(options))
        analyzer_named(texts.base_tokenizer)
        texts, number = _with_format(texts, options)
        memory, workers = options.get("memory_limit"), options.get("num_workers")
        memory = DEFAULT_MEMORY if memory is None else memory
        if type(memory) is not int or memory < 1:
            raise InvalidInputError(f"memory_limit is a number of MiB from 1 on, got {memory!r}")
        if workers is not None and (type(workers) is not int or workers < 0):
            raise InvalidInputError(f"num_workers is a number from 0 on, got {workers!r}")
        return cls(texts, number, memory, _token_set(options.get("token_set_format")), by_element)

    @property
    def form(self) -> PostingFormat:
        """The format of postings."""
        texts = self.texts
        return PostingFormat(
            self.format_number, texts.block_size, texts.with_position, self.token_set
        )

    @property
    def max_terms(self) -> int:
        """The terms of texts, with repetitions, that are in memory at once."""
        return (self.memory_limit << 19) // _BYTES_PER_TERM

    @property
    def run_bytes(self) -> int:
        """The bytes of runs in memory."""
        return self.memory_limit << 19

    def details(self) -> bytes:
        """The serialized details of the index."""
        texts = self.texts
        details = InvertedIndexDetails(
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
            block_size=texts.block_size,
            posting_format_version=self.format_number,
        )
        if texts.base_tokenizer == CODE:
            details.code_config.CopyFrom(
                InvertedIndexDetails.CodeTokenizerConfig(
                    split_identifiers=texts.split_identifiers,
                    split_on_numerics=texts.split_on_numerics,
                    preserve_original=texts.preserve_original,
                    index_operators=texts.index_operators,
                )
            )
        if self.by_element:
            details.document_granularity = InvertedIndexDetails.LIST_ELEMENT
        if texts.max_token_length is not None:
            details.max_token_length = texts.max_token_length
        data: bytes = details.SerializeToString()
        return data


def _is_by_element(granularity: Any) -> bool:
    value = getattr(granularity, "value", granularity)
    if value not in (None, "row", "list_element"):
        raise InvalidInputError(f"document_granularity is 'row' or 'list_element', got {value!r}")
    return bool(value == "list_element")


def _token_set(name: Any) -> str:
    known = (SORTED_COLUMN, TRANSDUCER)
    if name is not None and name not in known:
        raise InvalidInputError(f"token_set_format is 'arrow' or 'fst', got {name!r}")
    return SORTED_COLUMN if name is None else str(name)


def _with_format(texts: TextParameters, options: Mapping[str, Any]) -> tuple[TextParameters, int]:
    """The parameters of texts with the size of blocks, and the number of the format."""
    version, size = options.get("format_version"), options.get("block_size")
    is_code = texts.base_tokenizer == CODE
    if version is None:
        version = 3 if is_code or size == BLOCK_SIZES[3] else 2
    number = FORMATS.get(str(version).lower(), 0)
    if not number or isinstance(version, float):
        raise InvalidInputError(f"format_version is 1, 2 or 3, got {version!r}")
    if is_code and number != 3:
        raise InvalidInputError(f"base_tokenizer={CODE!r} has format_version=3, got {number}")
    sizes = {128, 256} if is_code else {BLOCK_SIZES[number]}
    if size is None and not is_code:
        texts = replace(texts, block_size=BLOCK_SIZES[number])
    if texts.block_size not in sizes:
        raise InvalidInputError(
            f"format_version={number} has blocks of {' or '.join(map(str, sorted(sizes)))} "
            f"documents: block_size is {texts.block_size}"
        )
    return texts, number


def _with_analyzer(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of texts; pylance also has ``analyzer="code"`` for its base tokenizer."""
    texts = {name: value for name, value in options.items() if name not in _OWN}
    analyzer = texts.pop("analyzer", "text")
    if analyzer not in ("text", CODE):
        raise InvalidInputError(f"analyzer {analyzer!r} is neither 'text' nor 'code'")
    if analyzer == CODE and texts.setdefault("base_tokenizer", CODE) != CODE:
        raise InvalidInputError(f"analyzer 'code' with base_tokenizer {texts['base_tokenizer']!r}")
    return texts
