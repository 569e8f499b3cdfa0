"""`PostingFormat`: which of the three formats of postings an index is written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lance_core_text.postings import index_files
from lance_core_text.postings.blocks import BlockLayout
from lance_core_text.postings.index_files import SORTED_COLUMN

BLOCK_SIZES = {1: 128, 2: 128, 3: 256}
"""The documents of a block of texts, by the number of the format."""


@dataclass(frozen=True, slots=True)
class PostingFormat:
    """Format ``number``, from 1 to 3, with or without positions.

    ``block_size``: the documents of a block, 128 or 256. With 128, format 3 is as format 2.
    ``token_set``: how terms are stored, `index_files.SORTED_COLUMN` or `index_files.TRANSDUCER`.
    """

    number: int
    block_size: int
    with_positions: bool
    token_set: str = SORTED_COLUMN

    @property
    def layout(self) -> BlockLayout:
        """How blocks are laid out."""
        return BlockLayout(
            self.block_size, has_score=self.block_size == 128, has_plain_rest=self.number == 1
        )

    @property
    def has_streams(self) -> bool:
        """True if positions are streams, False if they are lists of blocks."""
        return self.number > 1

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the files of postings, and of the index."""
        rest = index_files.PLAIN_REST if self.number == 1 else index_files.VARINT_REST
        metadata = {
            index_files.FORMAT_KEY: str(self.number),
            index_files.BLOCK_SIZE_KEY: str(self.layout.size),
            index_files.REST_KEY: rest,
        }
        if self.with_positions and self.has_streams:
            metadata[index_files.POSITION_LAYOUT_KEY] = index_files.STREAMS
            metadata[index_files.POSITION_CODEC_KEY] = index_files.PACKED_DELTAS
        return metadata
