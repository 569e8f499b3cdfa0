"""The methods of `LanceDataset` for indices."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.errors import InvalidInputError, warn_caller
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.dataset.maintenance.indices import create as creating
    from lance_core.dataset.maintenance.indices import describe as describing
    from lance_core.dataset.maintenance.indices import existing_segments, index_parts, statistics
    from lance_core.dataset.maintenance.indices import verify as verifying
    from lance_core.dataset.read.sources.prefilter import fragment_reuse
    from lance_core.dataset.values.index import Index
    from lance_core.dataset.values.index_config import IndexConfig
    from lance_core.dataset.values.index_description import IndexDescription
    from lance_core.dataset.values.index_problem import IndexProblem
    from lance_core.dataset.values.progress import IndexProgress
else:
    _FOLDER = "lance_core.dataset.maintenance.indices"
    creating = lazy_module(f"{_FOLDER}.create")
    describing = lazy_module(f"{_FOLDER}.describe")
    existing_segments = lazy_module(f"{_FOLDER}.existing_segments")
    index_parts = lazy_module(f"{_FOLDER}.index_parts")
    statistics = lazy_module(f"{_FOLDER}.statistics")
    fragment_reuse = lazy_module("lance_core.dataset.read.sources.prefilter.fragment_reuse")
    verifying = lazy_module(f"{_FOLDER}.verify")


@short_tracebacks
class IndexMethods(DatasetBase):
    """Creates, lists and drops the indices of columns."""

    def create_scalar_index(  # noqa: PLR0913 (the arguments are those of pylance)
        self,
        column: str | Sequence[str],
        index_type: str | IndexConfig,
        name: str | None = None,
        *,
        replace: bool = True,
        train: bool = True,
        fragment_ids: Sequence[int] | None = None,
        index_uuid: str | None = None,
        progress_callback: Callable[[IndexProgress], object] | None = None,
        format_version: int | str | None = None,
        **parameters: Any,
    ) -> None:
        """Index a column, and move to the new version; later scans with a filter use the index.

        ``column``: a column, or the path of a member of a struct (``"s.x"``). ``index_type``: the
        name of a type (``"BTREE"``, ``"BITMAP"``, ``"LABEL_LIST"``, ``"ZONEMAP"``,
        ``"BLOOMFILTER"``, ``"NGRAM"``, ``"JSON"``, or that of a plugin) or an `IndexConfig` with
        parameters, which may also be given as ``parameters``. ``name``: by default
        ``<column>_idx``. ``replace``: True replaces an index of the same name; an index without a
        name replaces the one of the same column and type. ``train``: False commits an empty one,
        which ``optimize.optimize_indices`` fills. ``progress_callback`` is called with an
        `IndexProgress`.

        Rows that are added later are searched without the index until
        ``optimize.optimize_indices``. If a compaction moves the indexed rows at the same time, the
        index is built again.

        Raises `ColumnNotFoundError`, `InvalidTypeError` for a column that cannot have such an
        index, `UnsupportedFeatureError` for an unknown type, `IndexNameError` if the name is taken
        or reserved, `InvalidInputError` for wrong parameters, and for ``fragment_ids`` without
        ``index_uuid`` (see `merge_index_metadata`), `CommitConflictError` if another writer has
        created an index of the same name or replaced values of the column since this version, and
        `CorruptFileError` for corrupt files.
        """
        if format_version is not None:
            parameters["format_version"] = format_version
        new = creating.NewIndex(
            column, index_type, parameters, name, replace, train, index_uuid, progress_callback
        )
        self._create(new, fragment_ids)

    def create_index(  # noqa: PLR0913, PLR0917 (the arguments are those of pylance)
        self,
        column: str | Sequence[str],
        index_type: str,
        name: str | None = None,
        metric: str = "L2",
        replace: bool = False,
        num_partitions: int | None = None,
        ivf_centroids: Any = None,
        pq_codebook: Any = None,
        num_sub_vectors: int | None = None,
        accelerator: Any = None,
        index_cache_size: int | None = None,
        shuffle_partition_batches: int | None = None,
        shuffle_partition_concurrency: int | None = None,
        ivf_centroids_file: str | None = None,
        precomputed_partition_dataset: str | None = None,
        storage_options: Mapping[str, str] | None = None,
        filter_nan: bool = True,
        train: bool = True,
        fragment_ids: Sequence[int] | None = None,
        index_uuid: str | None = None,
        *,
        target_partition_size: int | None = None,
        streaming_sample_rate: int | None = None,
        streaming_coreset_rate: int | None = None,
        streaming_refine_passes: int | None = None,
        skip_transpose: bool = False,
        progress_callback: Callable[[IndexProgress], object] | None = None,
        **parameters: Any,
    ) -> Self:
        """Index a column of vectors, and move to the new version; searches use the index.

        ``index_type``: a kind of vector index, such as ``"IVF_PQ"``, which needs the extra
        ``vector``. ``metric``: ``"L2"``, ``"cosine"``, ``"dot"`` or ``"hamming"``.
        ``num_partitions``: by default, as many as have some thousand rows each. ``ivf_centroids``
        (or the array in ``ivf_centroids_file``) and ``pq_codebook`` are used instead of training,
        and ``precomputed_partition_dataset`` instead of the nearest centroids. The plugin describes
        further ``parameters``, such as ``num_bits``, ``target_partition_size``, ``memory_limit``
        and ``seed``: the same rows and seed give the same index. ``index_cache_size``, the
        ``shuffle`` arguments and ``filter_nan`` have no effect. See `create_scalar_index` for the
        other arguments and the errors.

        With too few rows to train it, an `IndexWarning` is issued, and the index covers no rows
        until ``optimize.optimize_indices`` builds it.
        """
        vector_parameters = {
            "metric": metric,
            "num_partitions": num_partitions,
            "ivf_centroids": ivf_centroids,
            "pq_codebook": pq_codebook,
            "num_sub_vectors": num_sub_vectors,
            "accelerator": accelerator,
            "index_cache_size": index_cache_size,
            "shuffle_partition_batches": shuffle_partition_batches,
            "shuffle_partition_concurrency": shuffle_partition_concurrency,
            "ivf_centroids_file": ivf_centroids_file,
            "precomputed_partition_dataset": precomputed_partition_dataset,
            "storage_options": storage_options,
            "filter_nan": filter_nan,
            **_stated(
                target_partition_size=target_partition_size,
                streaming_sample_rate=streaming_sample_rate,
                streaming_coreset_rate=streaming_coreset_rate,
                streaming_refine_passes=streaming_refine_passes,
                skip_transpose=skip_transpose,
            ),
            **parameters,
        }
        new = creating.NewIndex(
            column,
            index_type,
            vector_parameters,
            name,
            replace,
            train,
            index_uuid,
            progress_callback,
        )
        self._create(new, fragment_ids)
        return self

    def _create(self, new: creating.NewIndex, fragment_ids: Sequence[int] | None) -> None:
        """Commit an index, or write a part of one."""
        if fragment_ids is None:
            self._snapshot = creating.create(self._snapshot, new)
        else:
            index_parts.write_part(self._snapshot, new, fragment_ids)

    def create_index_uncommitted(  # noqa: PLR0913, PLR0917 (as above)
        self,
        column: str | Sequence[str],
        index_type: str | IndexConfig,
        name: str | None = None,
        metric: str = "L2",
        replace: bool = False,
        num_partitions: int | None = None,
        ivf_centroids: Any = None,
        pq_codebook: Any = None,
        num_sub_vectors: int | None = None,
        accelerator: Any = None,
        index_cache_size: int | None = None,
        shuffle_partition_batches: int | None = None,
        shuffle_partition_concurrency: int | None = None,
        ivf_centroids_file: str | None = None,
        precomputed_partition_dataset: str | None = None,
        storage_options: Mapping[str, str] | None = None,
        filter_nan: bool = True,
        train: bool = True,
        fragment_ids: Sequence[int] | None = None,
        index_uuid: str | None = None,
        *,
        target_partition_size: int | None = None,
        streaming_sample_rate: int | None = None,
        streaming_coreset_rate: int | None = None,
        streaming_refine_passes: int | None = None,
        skip_transpose: bool = False,
        rabitq_model: str | None = None,
        **parameters: Any,
    ) -> Index:
        """Write a segment of an index, for the rows of some fragments, without a commit.

        Other processes may write the segments of other fragments at the same time.
        `commit_existing_index_segments` commits them as one index. See `create_scalar_index` and
        `create_index` for the other arguments and errors. ``fragment_ids`` is required, else
        `InvalidInputError` is raised. If an index of the name exists, ``replace=True`` is required,
        else `IndexNameError`.
        """
        if fragment_ids is None:
            raise InvalidInputError(
                "create_index_uncommitted needs fragment_ids: the list of fragments to index"
            )
        progress_callback = parameters.pop("progress_callback", None)
        parameters |= _stated(
            metric=metric,
            num_partitions=num_partitions,
            ivf_centroids=ivf_centroids,
            pq_codebook=pq_codebook,
            num_sub_vectors=num_sub_vectors,
            accelerator=accelerator,
            index_cache_size=index_cache_size,
            shuffle_partition_batches=shuffle_partition_batches,
            shuffle_partition_concurrency=shuffle_partition_concurrency,
            ivf_centroids_file=ivf_centroids_file,
            precomputed_partition_dataset=precomputed_partition_dataset,
            storage_options=storage_options,
            filter_nan=filter_nan,
            target_partition_size=target_partition_size,
            streaming_sample_rate=streaming_sample_rate,
            streaming_coreset_rate=streaming_coreset_rate,
            streaming_refine_passes=streaming_refine_passes,
            skip_transpose=skip_transpose,
            rabitq_model=rabitq_model,
        )
        new = creating.NewIndex(
            column, index_type, parameters, name, replace, train, index_uuid, progress_callback
        )
        return creating.create_uncommitted(self._snapshot, new, fragment_ids)

    def drop_index(self, name: str) -> None:
        """Remove an index, and move to the new version; a cleanup removes its files later.

        Raises `IndexNotFoundError`.
        """
        self._snapshot = creating.drop(self._snapshot, name)

    def merge_existing_index_segments(self, segments: Sequence[Index]) -> Index:
        """Write one segment with the rows of several that `create_index_uncommitted` has written.

        The given segments must not be committed, too. Raises `InvalidInputError` for segments that
        are not of one column and type, or that cover the same fragment.
        """
        return existing_segments.merge(self._snapshot, segments)

    def commit_existing_index_segments(
        self, index_name: str, column: str, segments: Sequence[Index]
    ) -> Self:
        """Commit segments as parts of one index, and move to the new version.

        They replace the segments of an existing index that cover some of the same fragments; its
        other segments stay. A fragment whose values were replaced after its segment was built is
        left out. Returns this dataset.

        Raises `InvalidInputError` for segments of another column, of several types, or that cover
        the same fragment, `IndexNameError`, and `CommitFileMissingError` if a file of a segment is
        missing or incomplete.
        """
        self._snapshot = existing_segments.commit_segments(
            self._snapshot, index_name, column, segments
        )
        return self

    def merge_index_metadata(
        self,
        index_uuid: str,
        index_type: str,
        batch_readhead: int | None = None,
        progress_callback: Callable[[IndexProgress], object] | None = None,
    ) -> None:
        """Write the files of index ``index_uuid`` of the parts that its processes have written.

        The older way to build one in several processes: each calls `create_scalar_index` with the
        same ``index_uuid`` and some ``fragment_ids``; afterwards, an operation `CreateIndex`
        commits the index. The other arguments have no effect. Raises `InvalidInputError` without
        parts, and what `merge_existing_index_segments` raises.
        """
        index_parts.merge_parts(self._snapshot, index_uuid)

    def list_indices(self) -> list[describing.IndexInformation]:
        """The segments of all indices as dictionaries, by name.

        Each has the ``name``, ``type`` and ``uuid``, the paths of its ``fields``, the ``version``
        that it was built from, its ``fragment_ids``, and its ``base_id``.
        """
        return describing.information(self._snapshot)

    def describe_indices(self) -> list[IndexDescription]:
        """All indices with their segments, by name.

        An index of a type or version that no plugin knows has the type ``"Unknown"``; queries do
        not use it, and all changes of the table keep it.
        """
        return describing.describe(self._snapshot)

    def index_statistics(self, index_name: str) -> dict[str, Any]:
        """As `LanceStats.index_stats` of ``stats``, with a warning: this name is deprecated."""
        warn_caller(
            "LanceDataset.index_statistics() is deprecated, use stats.index_stats()",
            DeprecationWarning,
        )
        return statistics.index_statistics(self._snapshot, index_name)

    def remap_row_addrs(self, addrs: pa.Array) -> pa.Array | None:
        """Where rows (``_rowaddr``) are after compactions with ``defer_index_remap``.

        Null for rows that a compaction left out. Addresses of a compaction that the indices have
        caught up with since stay as they are. None without a fragment-reuse index. Raises
        ``TypeError`` unless ``addrs`` are unsigned integers of 64 bits.
        """
        return fragment_reuse.remapped(self._snapshot, addrs)

    @property
    def has_index(self) -> bool:
        """True if the table has an index of a column."""
        return bool(creating.by_name(self._snapshot))

    def verify_index(self, name: str, *, limit: int = 1000) -> list[IndexProblem]:
        """What an index has of the rows that it covers and that is not so: the first ``limit``.

        Reads the whole index and the whole column, and computes again what the index should have.
        Raises `IndexNotFoundError`, `CorruptFileError`, and `UnsupportedFeatureError` for a type
        that cannot tell; types of the extra ``vector`` can.
        """
        return verifying.verify(self._snapshot, name, limit)

    def prewarm_index(
        self,
        name: str,
        *,
        with_position: bool = False,
        index_segments: Iterable[str | uuid.UUID] | None = None,
    ) -> None:
        """Load an index, or only ``index_segments``, into memory for later queries.

        ``with_position`` has no effect on these types of indices. Raises `IndexNotFoundError`,
        `UnsupportedFeatureError` for an unknown type, and `CorruptFileError`.
        """
        statistics.prewarm(self._snapshot, name, index_segments)


_DEFAULTS = {"metric": "L2", "filter_nan": True, "skip_transpose": False}
"""Of arguments that are not None by default."""


def _stated(**arguments: Any) -> dict[str, Any]:
    """The arguments that are not their defaults: types of indices refuse those of other types."""
    return {name: each for name, each in arguments.items() if each is not _DEFAULTS.get(name)}
