"""Everything that those need who copy the pages of data files, or merge several into one.

The metadata of columns and pages, their serialized messages, the chunks of mini-block pages, and
the encoders and decoders of rows that are not copied. `lance_core.maintenance` has the rest of what
a way to write tables anew needs.
"""

from lance_core.byte_ranges import BufferSlices, JoinSlices, RangeArrays, byte_ranges
from lance_core.concurrency.pools import IO_THREADS, in_order
from lance_core.datafile.aligned_output import VALUES_ENCODING, AlignedOutput
from lance_core.datafile.column_map import column_of
from lance_core.datafile.column_metadata import (
    COLUMN_ENCODING_TAG,
    COLUMN_PAGES_TAG,
    ColumnParser,
    PageEncoding,
    serialize_column,
    serialize_column_encoding,
    serialize_page,
)
from lance_core.datafile.fast.joined_files import FilePart, read_columns
from lance_core.datafile.footer import ALIGNMENT, TABLE_ENTRY
from lance_core.datafile.joined_ranges import GAP, JoinedRanges
from lance_core.datafile.page_limits import page_limits
from lance_core.datafile.page_messages import (
    PAGE_OFFSETS,
    PAGE_PRIORITY,
    SLACK,
    PageMessages,
    single_pages,
)
from lance_core.datafile.parallel import as_ready
from lance_core.datafile.raw_columns import RawColumns, column_ranges
from lance_core.datafile.reader import FileReader
from lance_core.datafile.varints import Bytes as ByteArray
from lance_core.datafile.varints import Ints, Ragged
from lance_core.datafile.varints import encode as encode_varints
from lance_core.datafile.varints import merged as merged_items
from lance_core.datafile.varints import tagged as tagged_items
from lance_core.encodings.arrow.fixed_width import bit_width, joined_bits
from lance_core.encodings.arrow.memory_pool import low_retention_pool
from lance_core.encodings.arrow.split import split_columns
from lance_core.encodings.arrow.strings import is_plain
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.compression.fsst import TABLE_BYTES, packed_symbols, stored_symbols
from lance_core.encodings.context import EncodeContext, FieldEncoder
from lance_core.encodings.decoding import packed_rows, run_decoding
from lance_core.encodings.dispatch import decode_field, field_encoder
from lance_core.encodings.kernels.numpy.fsst_train import MAX_SYMBOLS
from lance_core.encodings.layout_messages import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_NULLABLE_ITEM,
    ArrayEncoding,
    Buffer,
    ColumnEncoding,
    CompressiveEncoding,
    Fsst,
    MiniBlockLayout,
    PageLayout,
    SimpleStruct,
)
from lance_core.encodings.page import Column, EncodedPage, ForeignEncoding
from lance_core.encodings.page_arrays import PageArrays
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_1.codecs.base import Encoded, MiniBlockChunks, Place, Target
from lance_core.encodings.v2_1.codecs.base import decode as decode_values
from lance_core.encodings.v2_1.codecs.base import encode as encode_values
from lance_core.encodings.v2_1.codecs.chunks import split_sizes
from lance_core.encodings.v2_1.codecs.values import FixedWidth, VariableWidth, as_fixed
from lance_core.encodings.v2_1.codecs.variable import offset_bits, variable_chunks
from lance_core.encodings.v2_1.levels.repdef import Levels, layer_kinds
from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage
from lance_core.encodings.v2_1.pages.mini_block.chunk_levels import WantedRows, wanted_levels
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import (
    ChunkForm,
    ChunkParts,
    chunk_parts,
)
from lance_core.encodings.v2_1.pages.mini_block.chunk_table import (
    ChunkTable,
    PageWords,
    tables_of_pages,
)
from lance_core.encodings.v2_1.pages.mini_block.chunk_writer import chunk_words
from lance_core.encodings.v2_1.pages.mini_block.writer import mini_block_page
from lance_core.encodings.v2_1.selection.blocks import encode_levels
from lance_core.schema import to_storage
from lance_core.store.local.libc import populate
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.paths import data_file_name, data_file_path

__all__ = [
    "ALIGNMENT",
    "COLUMN_ENCODING_TAG",
    "COLUMN_PAGES_TAG",
    "GAP",
    "IO_THREADS",
    "MAX_SYMBOLS",
    "PAGE_OFFSETS",
    "PAGE_PRIORITY",
    "REPDEF_ALL_VALID_ITEM",
    "REPDEF_NULLABLE_ITEM",
    "SLACK",
    "TABLE_BYTES",
    "TABLE_ENTRY",
    "VALUES_ENCODING",
    "AlignedOutput",
    "ArrayEncoding",
    "Buffer",
    "BufferSlices",
    "ByteArray",
    "ChunkForm",
    "ChunkParts",
    "ChunkTable",
    "Column",
    "ColumnEncoding",
    "ColumnParser",
    "CompressiveEncoding",
    "DataFile",
    "EncodeContext",
    "Encoded",
    "EncodedPage",
    "EncodingRegistry",
    "FieldEncoder",
    "FilePart",
    "FileReader",
    "FixedWidth",
    "ForeignEncoding",
    "Fragment",
    "Fsst",
    "Ints",
    "JoinSlices",
    "JoinedRanges",
    "LayoutPage",
    "Levels",
    "MiniBlockChunks",
    "MiniBlockLayout",
    "PageArrays",
    "PageEncoding",
    "PageLayout",
    "PageMessages",
    "PageWords",
    "Place",
    "Ragged",
    "RangeArrays",
    "RawColumns",
    "SimpleStruct",
    "Target",
    "VariableWidth",
    "WantedRows",
    "as_fixed",
    "as_ready",
    "bit_width",
    "byte_ranges",
    "chunk_parts",
    "chunk_words",
    "column_of",
    "column_ranges",
    "data_file_name",
    "data_file_path",
    "decode_field",
    "decode_values",
    "encode_levels",
    "encode_values",
    "encode_varints",
    "field_encoder",
    "in_order",
    "is_plain",
    "joined_bits",
    "layer_kinds",
    "low_retention_pool",
    "merged_items",
    "mini_block_page",
    "offset_bits",
    "packed_rows",
    "packed_symbols",
    "page_limits",
    "populate",
    "read_columns",
    "run_decoding",
    "serialize_column",
    "serialize_column_encoding",
    "serialize_page",
    "single_pages",
    "split_columns",
    "split_sizes",
    "stored_symbols",
    "tables_of_pages",
    "tagged_items",
    "take_rows",
    "to_storage",
    "variable_chunks",
    "wanted_levels",
]
