"""Mutants that survive because they change nothing that can be observed."""

from __future__ import annotations

_PRESENT = "merging bytes into the message, even none, says already that it is there"

_ABOUT = "about as many bytes of memory are expected"

_UNKNOWN_SIZE = "numpy takes any negative size for the one that is left"

EQUIVALENT: dict[str, str] = {
    "lance_core.commits.handlers.lock:_leave: 4 -> 5": (
        "the warning is attributed to another line of this library"
    ),
    "lance_core.table.manifest.manifest_draft:Draft.with_files_of: may_mix(expected, version) -> "
    "may_mix(version, expected)": "whether two versions may mix does not depend on their order",
    "lance_core.table.fragments.ipc_sizes:_slot: table < 0 -> table <= 0": (
        "at position 0 of a message is where its root begins, never a table"
    ),
    "lance_core.table.transactions.operations.append:Append.add_to: "
    "message.append.SetInParent() -> pass": _PRESENT,
    "lance_core.table.transactions.operations.preserved:PreservedOperation.add_to: "
    "getattr(message, self.arm).SetInParent() -> pass": _PRESENT,
    "lance_core.table.transactions.operations.project:Project.apply: "
    "len(files) < len(fragment.files) -> len(files) <= len(fragment.files)": (
        "fragments that keep all files are written as they were"
    ),
    "lance_core.table.transactions.operations.update:Update.apply: draft.stable_row_ids and "
    "changed and self.new_fragments -> draft.stable_row_ids and changed": (
        "without new fragments an index covers no more fragments than before"
    ),
    "lance_core.table.indices.row_set:RowSet.of: False -> True": (
        "an optimized bitmap takes other memory and time, and has the same members"
    ),
    "lance_core.table.indices.row_set:_dense: 1 -> 2 #2": (
        "a mask for one more fragment has no row of it"
    ),
    "lance_core.commits.cleanup.planning:_Planning._version_to_remove: 0 -> 1": (
        "a version that is old enough was there when the folder with its manifest was listed"
    ),
    "lance_core.table.paths:parse_manifest_name: not 0 <= version <= _U64_MAX or "
    "(version & DETACHED != 0) != (scheme is None) -> not 0 <= version <= _U64_MAX and "
    "(version & DETACHED != 0) != (scheme is None)": (
        "numbers out of range are negative ones, which have the bit of detached versions; a name "
        "of the other kind is not the canonical one, which is looked at next"
    ),
    "lance_core.table.row_ids.row_id_index:_merged_layers: True -> False": (
        "the parts are triples by their type, so they have the same length"
    ),
    "lance_core.dataset.write.deletions:constant: 1 -> 2": (
        "a filter without columns has the same value for any number of rows"
    ),
    "lance_core.dataset.maintenance.indices.rows:FragmentRows.batches: 0 -> 1": (
        "batches end at a window either way; only their target size is one row and one byte less"
    ),
    "lance_core.dataset.maintenance.indices.describe:_details: spec is None or details is None -> "
    "spec is None": "an index without details has no known type",
    "lance_core.dataset.write.merge_insert.target:_searches: rows >= INDEXED_ROWS -> "
    "rows > INDEXED_ROWS": "groups have about as many rows, and one more is no difference",
    "lance_core.dataset.write.merge_insert.new_columns:NewColumns._new_rows: 0 -> 1 #1": (
        "a slice without rows has none wherever it begins"
    ),
    "lance_core.dataset.write.merge_insert.key_pairs:key_pairs: 0 -> 1": (
        "without pairs, the one number is broadcast to none"
    ),
    "lance_core_compaction.copied_fragments:copy_fragments: load(Part.FILES) "
    "-> pass": "modules that are not loaded together are loaded one by one when they are used",
    "lance_core_compaction.remap:moved_rows: fragment.physical_rows or 0 -> "
    "fragment.physical_rows": "new fragments have a number of rows, and never none of them",
    "lance_core_compaction.field_groups:_sizer: 1 -> 2 #1": (
        "a file has at least one row, and the least bytes of a group are those of many rows"
    ),
    "lance_core_compaction.page_copy.file_copy:FileCopy.write: True -> False": (
        "there are as many pieces as layouts: both are made from the fields of the schema"
    ),
    "lance_core_compaction.page_copy.file_bytes:FileBytes.__init__: 0 -> 1": (
        "one byte is less than half of the data of any file with a page that merges"
    ),
    "lance_core_compaction.page_copy.merge_groups:_have_buffers: 0 -> 1": (
        "without forms there are no pages, so that the first buffer of each is that of none"
    ),
    "lance_core_vector.kinds.hnsw_index:HnswIndex.prewarm: super().prewarm() -> pass": (
        "without super() the function has another number of cells, so that it cannot take the "
        "place of the other; test_codes_are_read_ahead_where_graphs_are_not_followed would notice"
    ),
    "lance_core.dataset.read.ranking.rank_indices:_by_address: exist.all() and "
    "live.are_physical_rows(addresses) -> live.are_physical_rows(addresses)": (
        "rows that are gone keep their addresses, in fragments that are gone"
    ),
    "lance_core_vector.quantizers.flat:FlatQuantizer.__init__: 4 -> 5": _ABOUT,
    "lance_core_vector.quantizers.scalar:ScalarQuantizer.__init__: 4 -> 5": _ABOUT,
    "lance_core_vector.quantizers.rabit_layout:pack_extra: 1 -> 2 #6": _UNKNOWN_SIZE,
    "lance_core_vector.vectors:matrix_of: 1 -> 2": _UNKNOWN_SIZE,
    "lance_core_vector.partitions.index_files:_graph_rows: 0 -> 1": (
        "graphs have a row at least, or the function has returned"
    ),
    "lance_core_vector.training.kmeans:_assigned: width <= MAX_NUMBERS -> width < MAX_NUMBERS": (
        "vectors of the longest parts are assigned by the other loop, to the same centroids"
    ),
    "lance_core_vector.distances:_squares: np.einsum('ij,ij->i', vectors, vectors) -> "
    "np.einsum('ij,ij->i', vectors, vectors)": "both are the same vectors",
    "lance_core_vector.kinds.balance:_chosen: np.minimum(np.searchsorted(numbers, own), "
    "max(0, len(numbers) - 1)) -> np.minimum(max(0, len(numbers) - 1), "
    "np.searchsorted(numbers, own))": "the lower of two numbers does not depend on their order",
    "lance_core_vector.kinds.merge:_add: 0 -> 1": "rows are added one byte of codes earlier",
    "lance_core_vector.quantizers.rotation:FastRotation.is_same: "
    "np.array_equal(self.signs, other.signs) -> np.array_equal(other.signs, self.signs)": (
        "whether two arrays are equal does not depend on their order"
    ),
    "lance_core_vector.shortlist:Shortlist._append: 1 -> 2": (
        "what follows the elements that are in their places is not below the wanted one: the limit "
        "may be higher, and more rows are compared exactly"
    ),
    "lance_core_vector.shortlist:Shortlist.add: 4 -> 5": (
        "more rows at the beginning give a limit that is as good or better"
    ),
    "lance_core_vector.distances:Cosine.approximate: 4 -> 5": (
        "what is above a bound of the errors is a bound, too"
    ),
    "lance_core_vector.kinds.verify:_Stored.compared: ends[-1:].sum() + MAX_PAIRS -> "
    "ends[-1:].sum() - MAX_PAIRS": "more vectors are compared at once, with the same result",
    "lance_core_vector.training.partitioned_rows:PartitionedRows.slices: step is None or "
    "self.lengths[number] <= step -> step is None": "a short partition is one slice either way",
    "lance_core_vector.kinds.verify:_is_near: MAX_PAIRS * 16 -> MAX_PAIRS // 16": (
        "fewer vectors are compared at once, with the same result"
    ),
    "lance_core.dataset.read.ranking.ranked_scan:RankedScan._rows: 1 -> 2": (
        "of two rows, all beyond the limit of the scan are cut off"
    ),
    "lance_core.dataset.read.ranking.index_search:IndexSearch._ranked: "
    "count > tuning().ranking.few_rows -> count >= tuning().ranking.few_rows": (
        "the values of all rows give the same results as more rows of the index"
    ),
    "lance_core_text.queries.clauses:Clause.is_phrase: len(self.words) > 1 -> "
    "len(self.words) >= 1": "each document with the word has a phrase of it alone",
    "lance_core_text.queries.words:_words: position - first -> position + first": (
        "positions of words are only compared with each other"
    ),
    "lance_core_text.scoring.rank_partition:is_rankable: not is_compiled() or len(clauses) > "
    "MAX_COUNTED -> len(clauses) > MAX_COUNTED": (
        "in a process with compiled loops, they return what numpy does"
    ),
    "lance_core_text.scoring.scorer:PartitionScorer._prepared: raise "
    "ValueError(f'{count} blocks for {blocks.length} documents') -> pass": (
        "the compiled loop refuses these buffers, too, with another text"
    ),
    "lance_core_text.analyzers.columns:_joined: False -> True": (
        "numbers without nulls are never copied"
    ),
    "lance_core_text.write.encode_blocks:_encode_rest: 0 -> 1": (
        "the first difference is that of a first document, which is replaced"
    ),
    "lance_core_text.analyzers.json_documents:analyze_documents: False -> True": (
        "the offsets of words in the texts of a document are not used"
    ),
    "lance_core_text.write.encode_impacts:_encoded: 0 -> 1": (
        "the first difference is that of a first entry, which is replaced"
    ),
}
"""By key, the reason."""
