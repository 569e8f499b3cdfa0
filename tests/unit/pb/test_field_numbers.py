"""Field numbers and types of the key messages are those of the format."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FieldDescriptor

from lance_core._pb import (
    encodings_v2_0_pb2,
    encodings_v2_1_pb2,
    file2_pb2,
    file_pb2,
    foreign_pb2,
    frames_pb2,
    index_old_pb2,
    index_pb2,
    rowids_pb2,
    table_pb2,
    transaction_pb2,
)
from tests.each_case import each_case

MODULES = (
    encodings_v2_0_pb2,
    encodings_v2_1_pb2,
    file2_pb2,
    file_pb2,
    foreign_pb2,
    frames_pb2,
    index_old_pb2,
    index_pb2,
    rowids_pb2,
    table_pb2,
    transaction_pb2,
)

SCALARS = {
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FIXED32: "fixed32",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
}

# Each line: field numbers and types of a message, in order of the numbers.
# `*` repeated, `?` explicit presence, `a->b` a map.
PINNED = {
    "lance.file.FileDescriptor": "1 schema Schema, 2 length uint64,"
    " 1703 global_buffer_crc32c *fixed32",
    "lance.file.Schema": "1 fields *Field, 5 metadata string->bytes",
    "lance.file.Metadata": "1 manifest_position uint64, 2 batch_offsets *int32,"
    " 3 page_table_position uint64, 5 statistics StatisticsMetadata",
    "lance.file.Field": "1 type Type, 2 name string, 3 id int32, 4 parent_id int32,"
    " 5 logical_type string, 6 nullable bool, 7 encoding Encoding, 8 dictionary Dictionary,"
    " 9 extension_name string, 10 metadata string->bytes, 12 unenforced_primary_key bool,"
    " 13 unenforced_primary_key_position uint32, 14 unenforced_clustering_key bool,"
    " 15 unenforced_clustering_key_position uint32",
    "lance.file.v2.Encoding": "1 indirect DeferredEncoding, 2 direct DirectEncoding, 3 none Empty",
    "lance.file.v2.ColumnMetadata": "1 encoding Encoding, 2 pages *Page,"
    " 3 buffer_offsets *uint64, 4 buffer_sizes *uint64",
    "lance.file.v2.ColumnMetadata.Page": "1 buffer_offsets *uint64, 2 buffer_sizes *uint64,"
    " 3 length uint64, 4 encoding Encoding, 5 priority uint64, 1701 buffer_crc32c *fixed32",
    "lance.encodings.ArrayEncoding": "1 flat Flat, 2 nullable Nullable,"
    " 3 fixed_size_list FixedSizeList, 4 list List, 5 struct SimpleStruct, 6 binary Binary,"
    " 7 dictionary Dictionary, 8 fsst Fsst, 9 packed_struct PackedStruct,"
    " 10 bitpacked Bitpacked, 11 fixed_size_binary FixedSizeBinary,"
    " 12 bitpacked_for_non_neg BitpackedForNonNeg, 13 constant Constant,"
    " 14 inline_bitpacking InlineBitpacking, 15 out_of_line_bitpacking OutOfLineBitpacking,"
    " 16 variable Variable,"
    " 17 packed_struct_fixed_width_mini_block PackedStructFixedWidthMiniBlock,"
    " 18 block Block, 19 rle Rle, 20 general_mini_block GeneralMiniBlock,"
    " 21 byte_stream_split ByteStreamSplit",
    "lance.encodings.Nullable": "1 no_nulls NoNull, 2 some_nulls SomeNull, 3 all_nulls AllNull",
    "lance.encodings.Flat": "1 bits_per_value uint64, 2 buffer Buffer, 3 compression Compression",
    "lance.encodings.Buffer": "1 buffer_index uint32, 2 buffer_type BufferType",
    "lance.encodings.List": "1 offsets ArrayEncoding, 2 null_offset_adjustment uint64,"
    " 3 num_items uint64",
    "lance.encodings.Binary": "1 indices ArrayEncoding, 2 bytes ArrayEncoding,"
    " 3 null_adjustment uint64",
    "lance.encodings.Dictionary": "1 indices ArrayEncoding, 2 items ArrayEncoding,"
    " 3 num_dictionary_items uint32",
    "lance.encodings.FixedSizeList": "1 dimension uint32, 2 items ArrayEncoding,"
    " 3 has_validity bool",
    "lance.encodings.ColumnEncoding": "1 values Empty, 2 zone_index ZoneIndex, 3 blob Blob",
    "lance.encodings21.PageLayout": "1 mini_block_layout MiniBlockLayout,"
    " 2 constant_layout ConstantLayout, 3 full_zip_layout FullZipLayout,"
    " 4 blob_layout BlobLayout, 5 sparse_layout ?bytes",
    "lance.encodings21.MiniBlockLayout": "1 rep_compression CompressiveEncoding,"
    " 2 def_compression CompressiveEncoding, 3 value_compression CompressiveEncoding,"
    " 4 dictionary CompressiveEncoding, 5 num_dictionary_items uint64, 6 layers *RepDefLayer,"
    " 7 num_buffers uint64, 8 repetition_index_depth uint32, 9 num_items uint64,"
    " 10 has_large_chunk bool",
    "lance.encodings21.FullZipLayout": "1 bits_rep uint32, 2 bits_def uint32,"
    " 3 bits_per_value ?uint32, 4 bits_per_offset ?uint32, 5 num_items uint32,"
    " 6 num_visible_items uint32, 7 value_compression CompressiveEncoding,"
    " 8 layers *RepDefLayer",
    "lance.encodings21.ConstantLayout": "5 layers *RepDefLayer, 6 inline_value ?bytes,"
    " 7 rep_compression CompressiveEncoding, 8 def_compression CompressiveEncoding,"
    " 9 num_rep_values uint64, 10 num_def_values uint64",
    "lance.encodings21.CompressiveEncoding": "1 flat Flat, 2 variable Variable,"
    " 3 constant Constant, 4 out_of_line_bitpacking OutOfLineBitpacking,"
    " 5 inline_bitpacking InlineBitpacking, 6 fsst Fsst, 7 dictionary Dictionary, 8 rle Rle,"
    " 9 byte_stream_split ByteStreamSplit, 10 general General,"
    " 11 fixed_size_list FixedSizeList, 12 packed_struct PackedStruct,"
    " 13 variable_packed_struct VariablePackedStruct, 14 range Range, 15 delta Delta",
    "lance.table.Manifest": "1 fields *Field, 2 fragments *DataFragment, 3 version uint64,"
    " 4 version_aux_data uint64, 5 schema_metadata string->bytes, 6 index_section ?uint64,"
    " 7 timestamp Timestamp, 8 tag string, 9 reader_feature_flags uint64,"
    " 10 writer_feature_flags uint64, 11 max_fragment_id ?uint32, 12 transaction_file string,"
    " 13 writer_version WriterVersion, 14 next_row_id uint64, 15 data_format DataStorageFormat,"
    " 16 config string->string, 18 base_paths *BasePath, 19 table_metadata string->string,"
    " 20 branch ?string, 21 transaction_section_deprecated ?uint64, 22 fragment_tree ?bytes,"
    " 23 transaction_section ?uint64, 24 max_allocated_field_id ?uint64,"
    " 25 clustering ?bytes, 26 max_clustering_id ?uint64",
    "lance.table.Manifest.WriterVersion": "1 library string, 2 version string,"
    " 3 prerelease ?string, 4 build_metadata ?string",
    "lance.table.DataFragment": "1 id uint64, 2 files *DataFile, 3 deletion_file DeletionFile,"
    " 4 physical_rows uint64, 5 inline_row_ids ?bytes, 6 external_row_ids ExternalFile,"
    " 7 inline_last_updated_at_versions ?bytes,"
    " 8 external_last_updated_at_versions ExternalFile, 9 inline_created_at_versions ?bytes,"
    " 10 external_created_at_versions ExternalFile, 11 overlays *DataOverlayFile",
    "lance.table.DataFile": "1 path string, 2 fields *int32, 3 column_indices *int32,"
    " 4 file_major_version uint32, 5 file_minor_version uint32, 6 file_size_bytes uint64,"
    " 7 base_id ?uint32",
    "lance.table.DataOverlayFile": "1 data_file DataFile, 2 shared_offset_bitmap ?bytes,"
    " 3 committed_version uint64, 4 field_coverage FieldCoverage",
    "lance.table.DeletionFile": "1 file_type DeletionFileType, 2 read_version uint64,"
    " 3 id uint64, 4 num_deleted_rows uint64, 7 base_id ?uint32",
    "lance.table.BasePath": "1 id uint32, 2 name ?string, 3 is_dataset_root bool, 4 path string",
    "lance.table.IndexMetadata": "1 uuid UUID, 2 fields *int32, 3 name string,"
    " 4 dataset_version uint64, 5 fragment_bitmap bytes, 6 index_details Any,"
    " 7 index_version ?int32, 8 created_at ?uint64, 9 base_id ?uint32, 10 files *IndexFile,"
    " 11 covering_fields *int32",
    "lance.table.Transaction": "1 read_version uint64, 2 uuid string, 3 tag string,"
    " 4 transaction_properties string->string, 100 append Append, 101 delete Delete,"
    " 102 overwrite Overwrite, 103 create_index CreateIndex, 104 rewrite Rewrite,"
    " 105 merge Merge, 106 restore Restore, 107 reserve_fragments ReserveFragments,"
    " 108 update Update, 109 project Project, 110 update_config UpdateConfig,"
    " 111 data_replacement DataReplacement, 112 update_mem_wal_state UpdateMemWalState,"
    " 113 clone Clone, 114 update_bases UpdateBases, 115 data_overlay DataOverlay,"
    " 200 blob_append Append, 202 blob_overwrite Overwrite",
    "lance.table.Transaction.Delete": "1 updated_fragments *DataFragment,"
    " 2 deleted_fragment_ids *uint64, 3 predicate string",
    "lance.table.Transaction.Overwrite": "1 fragments *DataFragment, 2 schema *Field,"
    " 3 schema_metadata string->bytes, 4 config_upsert_values string->string,"
    " 5 initial_bases *BasePath",
    "lance.table.Transaction.Rewrite": "1 old_fragments *DataFragment,"
    " 2 new_fragments *DataFragment, 3 groups *RewriteGroup, 4 rewritten_indices *RewrittenIndex",
    "lance.table.Transaction.Rewrite.RewrittenIndex": "1 old_id UUID, 2 new_id UUID,"
    " 3 new_index_details Any, 4 new_index_version uint32, 5 new_index_files *IndexFile",
    "lance.table.Transaction.Merge": "1 fragments *DataFragment, 2 schema *Field,"
    " 3 schema_metadata string->bytes, 4 preserves_nullability bool",
    "lance.table.Transaction.Project": "1 schema *Field, 2 preserves_nullability bool",
    "lance.table.Transaction.Clone": "1 is_shallow bool, 2 ref_name ?string,"
    " 3 ref_version uint64, 4 ref_path string, 5 branch_name ?string",
    "lance.table.Transaction.Update": "1 removed_fragment_ids *uint64,"
    " 2 updated_fragments *DataFragment, 3 new_fragments *DataFragment,"
    " 4 fields_modified *uint32, 5 compacted_sstables *CompactedSsTable,"
    " 6 fields_for_preserving_frag_bitmap *uint32, 7 update_mode UpdateMode,"
    " 8 inserted_rows KeyExistenceFilter, 9 updated_fragment_offsets uint64->UInt32List,"
    " 10 updated_fragment_offset_bitmaps uint64->bytes",
    "lance.table.Transaction.UpdateConfig": "1 upsert_values string->string,"
    " 2 delete_keys *string, 3 schema_metadata string->string,"
    " 4 field_metadata uint32->FieldMetadataUpdate, 6 config_updates UpdateMap,"
    " 7 table_metadata_updates UpdateMap, 8 schema_metadata_updates UpdateMap,"
    " 9 field_metadata_updates int32->UpdateMap",
    "lance.table.Transaction.KeyExistenceFilter": "1 field_ids *int32, 2 exact ExactKeySetFilter,"
    " 3 bloom BloomFilter",
    "lance.table.Transaction.BloomFilter": "1 bitmap bytes, 2 num_bits uint32,"
    " 3 number_of_items uint64, 4 probability double",
    "lance.table.U64Segment": "1 range Range, 2 range_with_holes RangeWithHoles,"
    " 3 range_with_bitmap RangeWithBitmap, 4 sorted_array EncodedU64Array,"
    " 5 array EncodedU64Array",
    "lance.table.EncodedU64Array.U64Array": "2 values bytes",
    "lance.table.RowDatasetVersionRun": "1 span U64Segment, 2 version uint64",
    "lance_core.frames.ManifestFrame": "1 fields *bytes, 2 fragments *bytes",
    "lance_core.frames.DescriptorFrame": "1 schema bytes, 2 length uint64,"
    " 1703 global_buffer_crc32c *fixed32",
    "lance_core.encodings.ForeignValues": "1 type_url string, 2 distribution string,"
    " 3 num_values uint64, 4 values_per_block uint32, 5 block_bytes *uint64",
}


def type_name(field: FieldDescriptor) -> str:
    """Return the type of `field` as the table above writes it."""
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        return "->".join(type_name(message.fields_by_name[part]) for part in ("key", "value"))
    named = message or field.enum_type
    name = named.name if named is not None else SCALARS[field.type]
    if field.is_repeated:
        return f"*{name}"
    return f"?{name}" if message is None and field.has_presence else name


@each_case("name", PINNED)
def test_field_numbers_and_types_are_those_of_the_format(name: str) -> None:
    message = descriptor_pool.Default().FindMessageTypeByName(name)
    fields = sorted(message.fields, key=lambda field: field.number)
    found = ", ".join(f"{field.number} {field.name} {type_name(field)}" for field in fields)
    assert found == PINNED[name]


def test_descriptors_are_registered_under_the_package_only() -> None:
    names = [module.DESCRIPTOR.name for module in MODULES]
    assert all(name.startswith("lance_core/_pb/") for name in names)
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindFileByName("file.proto")


def test_every_proto_source_has_its_generated_code() -> None:
    sources = Path(__file__).parents[3] / "protos"
    assert {path.name for path in sources.glob("*.proto")} == {
        Path(module.DESCRIPTOR.name).name for module in MODULES
    }
