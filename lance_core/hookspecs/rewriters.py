"""Everything that the author of a rewriter needs.

A rewriter implements `FragmentRewriter` and is described by a `RewriterSpec`. The rest is what a
copy of pages works with: the metadata of columns and pages, their serialized messages, pages of
several files that become one, and the encoders and decoders of rows that are not copied.
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
from lance_core.datafile.fragment_rewriter import (
    FileRewrite,
    FragmentRewriter,
    Parts,
    RewriteCounts,
    RowReader,
    SourceTable,
)
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
from lance_core.datafile.reader import FileReader
from lance_core.datafile.rewriter_spec import RewriterSpec
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
from lance_core.encodings.compression.fsst import TABLE_BYTES
from lance_core.encodings.context import EncodeContext, FieldEncoder
from lance_core.encodings.decoding import packed_rows, run_decoding
from lance_core.encodings.dispatch import decode_field, field_encoder
from lance_core.encodings.layout_messages import (
    ArrayEncoding,
    ColumnEncoding,
    MiniBlockLayout,
    PageLayout,
    SimpleStruct,
)
from lance_core.encodings.mergeable_pages import (
    AnyForm,
    CodeForm,
    NumberForm,
    PageForm,
    merge_ends,
    merged_encoding,
    page_form,
)
from lance_core.encodings.nullable_structs import nullable_structs
from lance_core.encodings.page import Column, EncodedPage, ForeignEncoding
from lance_core.encodings.page_arrays import PageArrays
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_1.codecs.base import Encoded
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.encodings.v2_1.levels.repdef import Levels
from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage
from lance_core.encodings.v2_1.pages.mini_block.code_pages import shared_codes
from lance_core.encodings.v2_1.pages.mini_block.number_pages import (
    joined_numbers,
    numbers_of,
    packed_numbers,
    repacked_page,
)
from lance_core.encodings.v2_1.pages.mini_block.stored_pages import StoredPages, joined_levels
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
    "PAGE_OFFSETS",
    "PAGE_PRIORITY",
    "SLACK",
    "TABLE_BYTES",
    "TABLE_ENTRY",
    "VALUES_ENCODING",
    "AlignedOutput",
    "AnyForm",
    "ArrayEncoding",
    "BufferSlices",
    "ByteArray",
    "CodeForm",
    "Column",
    "ColumnEncoding",
    "ColumnParser",
    "DataFile",
    "EncodeContext",
    "Encoded",
    "EncodedPage",
    "EncodingRegistry",
    "FieldEncoder",
    "FilePart",
    "FileReader",
    "FileRewrite",
    "FixedWidth",
    "ForeignEncoding",
    "Fragment",
    "FragmentRewriter",
    "Ints",
    "JoinSlices",
    "JoinedRanges",
    "LayoutPage",
    "Levels",
    "MiniBlockLayout",
    "NumberForm",
    "PageArrays",
    "PageEncoding",
    "PageForm",
    "PageLayout",
    "PageMessages",
    "Parts",
    "Ragged",
    "RangeArrays",
    "RewriteCounts",
    "RewriterSpec",
    "RowReader",
    "SimpleStruct",
    "SourceTable",
    "StoredPages",
    "as_ready",
    "bit_width",
    "byte_ranges",
    "column_of",
    "data_file_name",
    "data_file_path",
    "decode_field",
    "encode_levels",
    "encode_varints",
    "field_encoder",
    "in_order",
    "is_plain",
    "joined_bits",
    "joined_levels",
    "joined_numbers",
    "low_retention_pool",
    "merge_ends",
    "merged_encoding",
    "merged_items",
    "mini_block_page",
    "nullable_structs",
    "numbers_of",
    "packed_numbers",
    "packed_rows",
    "page_form",
    "page_limits",
    "populate",
    "read_columns",
    "repacked_page",
    "run_decoding",
    "serialize_column",
    "serialize_column_encoding",
    "serialize_page",
    "shared_codes",
    "single_pages",
    "split_columns",
    "tagged_items",
    "take_rows",
    "to_storage",
]
