"""The files of a text index, and the metadata in them.

``metadata.lance`` names the partitions; each has the files of its terms, documents and postings.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass

from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.indices import (
    IndexFileReader,
    IndexFolder,
    InvertedIndexDetails,
    parse_details_message,
)
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.postings.blocks import BlockLayout

METADATA_FILE = "metadata.lance"

PARTITIONS_KEY = "partitions"
PARAMETERS_KEY = "params"
FORMAT_KEY = "format_version"
TERMS_KEY = "token_set_format"
BLOCK_SIZE_KEY = "posting_block_size"
REST_KEY = "posting_tail_codec"
TOTAL_KEY = "total_tokens"

SORTED_COLUMN, TRANSDUCER = "arrow", "fst"
"""The ways in which the terms of a partition are stored."""

PLAIN_REST = "fixed32_v1"
VARINT_REST = "varint_delta_v1"

POSITION_LAYOUT_KEY = "positions_layout"
POSITION_CODEC_KEY = "positions_codec"
STREAMS = "shared_stream_v2"
PACKED_DELTAS = "packed_delta_v1"

MAX_FORMAT = 3
"""The highest format of postings."""

MAX_PARTITIONS = 1 << 16


@functools.lru_cache(maxsize=256)
def is_by_element(details: bytes) -> bool:
    """True if elements of lists are documents, by the details. Raises `CorruptFileError`."""
    parsed = parse_details_message(InvertedIndexDetails, details)
    return bool(parsed.document_granularity == InvertedIndexDetails.LIST_ELEMENT)


def tokens_file(number: int) -> str:
    """The name of the file with the terms of a partition."""
    return f"part_{number}_tokens.lance"


def documents_file(number: int) -> str:
    """The name of the file with the documents of a partition."""
    return f"part_{number}_docs.lance"


def postings_file(number: int) -> str:
    """The name of the file with the postings of a partition."""
    return f"part_{number}_invert.lance"


@dataclass(frozen=True, slots=True)
class IndexMetadata:
    """What ``metadata.lance`` says.

    The parameters of the texts, the numbers of partitions, the format of postings, and how terms
    are stored, `SORTED_COLUMN` or `TRANSDUCER`.
    """

    parameters: TextParameters
    partitions: tuple[int, ...]
    format_number: int
    token_set: str

    @classmethod
    def of(cls, folder: IndexFolder) -> IndexMetadata:
        """Read it. Raises `CorruptFileError`, `ObjectNotFoundError`, `UnsupportedFeatureError`."""
        reader = folder.reader(METADATA_FILE)
        try:
            parameters = TextParameters.from_json(_text(reader, PARAMETERS_KEY))
        except (InvalidInputError, TypeError) as error:
            raise CorruptFileError(str(error), reader.path, field=PARAMETERS_KEY) from None
        if parameters.lance_tokenizer not in (None, "text", "json"):
            raise UnsupportedFeatureError(f"text index of {parameters.lance_tokenizer!r}")
        stored = _text(reader, PARTITIONS_KEY)
        try:
            numbers = json.loads(stored)
        except (ValueError, RecursionError):
            numbers = None
        if not isinstance(numbers, list) or not all(
            type(number) is int and 0 <= number < 1 << 63 for number in numbers
        ):
            raise CorruptFileError(f"is {stored[:80]!r}", reader.path, field=PARTITIONS_KEY)
        if len(numbers) > MAX_PARTITIONS or len(set(numbers)) < len(numbers):
            raise CorruptFileError("has too many numbers", reader.path, field=PARTITIONS_KEY)
        version = _number(reader.metadata, FORMAT_KEY, 1, reader)
        is_transducer = reader.metadata.get(TERMS_KEY) == TRANSDUCER
        token_set = TRANSDUCER if is_transducer else SORTED_COLUMN
        return cls(parameters, tuple(numbers), version, token_set)


def block_layout(reader: IndexFileReader) -> BlockLayout:
    """How the postings in a file are laid out; raises `CorruptFileError`."""
    metadata = reader.metadata
    version = _number(metadata, FORMAT_KEY, 1, reader)
    size = _number(metadata, BLOCK_SIZE_KEY, 128, reader)
    rest = metadata.get(REST_KEY, PLAIN_REST)
    if rest not in (PLAIN_REST, VARINT_REST) or size not in (128, 256) or version > MAX_FORMAT:
        raise UnsupportedFeatureError(
            f"postings of format {version} in blocks of {size} with {rest} ({reader.path})"
        )
    # Blocks of 256 documents, those of format 3, have no score.
    return BlockLayout(size, size == 128, rest == PLAIN_REST)


def has_streams(reader: IndexFileReader) -> bool:
    """True if the positions in a file are streams, False if they are lists of blocks."""
    return reader.metadata.get(POSITION_LAYOUT_KEY) == STREAMS


def total_tokens(reader: IndexFileReader) -> int | None:
    """The terms of all documents, with repetitions, if the file of the documents says it."""
    text = reader.metadata.get(TOTAL_KEY, "")
    return int(text) if text.isdecimal() and len(text) < 19 else None


def _text(reader: IndexFileReader, key: str) -> str:
    if key not in reader.metadata:
        raise CorruptFileError("the metadata is missing", reader.path, field=key)
    return reader.metadata[key]


def _number(metadata: Mapping[str, str], key: str, default: int, reader: IndexFileReader) -> int:
    text = metadata.get(key, str(default))
    if not text.isdecimal() or len(text) > 9:
        raise CorruptFileError(f"{text!r} is not a number", reader.path, field=key)
    return int(text)
