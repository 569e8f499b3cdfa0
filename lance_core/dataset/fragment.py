"""`LanceFragment`: one fragment of a version."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

import numpy as np
import pyarrow as pa

from lance_core.dataset.arrow_class import ArrowInstance
from lance_core.dataset.maintenance.validate import check_fragment, check_pages
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, Columns, Projection, select
from lance_core.dataset.read.given_rows import take as taking
from lance_core.dataset.read.scan_options import options_of, split_options
from lance_core.dataset.read.sources.row_positions import Indices
from lance_core.dataset.scanner import LanceScanner
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.snapshot.snapshot import HasSnapshot, Snapshot, Target
from lance_core.dataset.values.fragment_metadata import DataFile, FragmentMetadata
from lance_core.dataset.values.progress import ProgressOfFragment
from lance_core.dataset.write import deletions
from lance_core.dataset.write.fragment_writer import NO_LIMIT
from lance_core.dataset.write.input import ReaderLike
from lance_core.dataset.write.write import AllWriteArguments, write_fragments
from lance_core.errors import InvalidInputError, SchemaMismatchError, UnsupportedFeatureError
from lance_core.imports.on_demand import lazy_module
from lance_core.schema import Field, is_blob_v2
from lance_core.schema.lance_schema import LanceSchema
from lance_core.store.secret import hide_secrets_in
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.fragments.fragment import Fragment

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.compute as pc

    from lance_core.dataset.arguments import (
        FragmentPandasArguments,
        FragmentScanArguments,
        HeadArguments,
    )
    from lance_core.dataset.write import existing_file
    from lance_core.dataset.write.schema_evolution import add_columns as adding
    from lance_core.dataset.write.schema_evolution import merge as merging
    from lance_core.dataset.write.schema_evolution import udf, update_columns
else:
    existing_file = lazy_module("lance_core.dataset.write.existing_file")
    _FOLDER = "lance_core.dataset.write.schema_evolution"
    adding = lazy_module(f"{_FOLDER}.add_columns")
    merging = lazy_module(f"{_FOLDER}.merge")
    udf = lazy_module(f"{_FOLDER}.udf")
    update_columns = lazy_module(f"{_FOLDER}.update_columns")


def _absent(field: Field, held: Collection[int]) -> Iterator[int]:
    """Ids of the leaves of ``field`` that no stored column covers.

    ``held``: ids of the fields with a column. The column of a packed struct or version 2 blob also
    covers the children, unless one of them has a column.
    """
    one_column = field.may_be_packed or is_blob_v2(field)
    if one_column and field.id in held and not any(child.id in held for child in field.children):
        return
    if field.is_leaf and field.id not in held:
        yield field.id
    for child in field.children:
        yield from _absent(child, held)


class FragmentSession:
    """Takes of the same columns from one fragment; returned by `LanceFragment.open_session`."""

    def __init__(self, snapshot: Snapshot, fragment: Fragment, projection: Projection) -> None:
        self._snapshot = snapshot
        self._fragment = fragment
        self._projection = projection

    def take(self, indices: Indices) -> pa.Table:
        """Rows by their position among the fragment's live rows."""
        return taking.take_in_fragment(self._snapshot, self._fragment, indices, self._projection)


@short_tracebacks
class LanceFragment(ArrowInstance):
    """A fragment of one version; returned by `LanceDataset.get_fragments`."""

    arrow_name = "Fragment"

    def __init__(self, dataset: HasSnapshot, fragment_id: int) -> None:
        """Raises `InvalidInputError` if the version has no fragment with this id."""
        self._ds = dataset
        self._snapshot: Snapshot = dataset.snapshot
        self._id = self._snapshot.fragment(fragment_id).id

    @classmethod
    def all_of(cls, dataset: HasSnapshot) -> list[Self]:
        """The fragments of the open version, in the order of a scan; decodes none of them."""
        snapshot, fragments = dataset.snapshot, []
        for fragment_id in snapshot.fragment_positions:
            # Objects without Arrow's C++ part are several times faster to create.
            fragment: Any = object.__new__(cls)
            fragment._ds = dataset  # noqa: SLF001  # set by the class itself
            fragment._snapshot = snapshot  # noqa: SLF001  # as above
            fragment._id = fragment_id  # noqa: SLF001  # as above
            fragments.append(fragment)
        return fragments

    @staticmethod
    def create(
        dataset_uri: Target,
        data: ReaderLike,
        fragment_id: int | None = None,
        schema: pa.Schema | None = None,
        *,
        mode: str = "append",
        **options: Unpack[AllWriteArguments],
    ) -> FragmentMetadata:
        """Write all rows as one data file of a new fragment, without committing it.

        ``fragment_id``: only for operations that keep the ids of fragments; an Append or Overwrite
        assigns a new id. See `write_fragments` for the other options. Raises
        `SchemaMismatchError` if there are no rows.
        """
        hide_secrets_in(options)  # type: ignore[arg-type]  # a TypedDict is a dictionary, too
        progress = options.get("progress")
        if fragment_id and progress is not None:
            options["progress"] = ProgressOfFragment(progress, fragment_id)
        options["max_rows_per_file"] = options["max_bytes_per_file"] = NO_LIMIT
        written = write_fragments(
            data,
            dataset_uri,
            schema,
            mode=mode,
            **options,
        )
        if not isinstance(written, list) or len(written) != 1:
            raise SchemaMismatchError("a fragment cannot be made of no rows")
        return replace(written[0], id=fragment_id or 0)

    @staticmethod
    def create_from_file(filename: str, dataset: HasSnapshot, fragment_id: int) -> FragmentMetadata:
        """The metadata of a fragment whose data file is already in the table's data folder.

        Columns of the file are matched to those of the table by name. ``fragment_id``: see
        `create`. Raises `SchemaMismatchError` for columns that the table does not have.
        """
        fragment = existing_file.fragment_of_file(dataset.snapshot, filename, fragment_id)
        return FragmentMetadata.of(fragment, fragment.physical_rows or 0)

    def __repr__(self) -> str:
        text = f"id={self.fragment_id}, data_files={[f.path for f in self._fragment.files]}"
        if self._fragment.deletion_file is not None:
            text += f", deletion_file={self.deletion_file()!r}"
        return f"LanceFileFragment({text})"

    def __reduce__(self) -> tuple[type[LanceFragment], tuple[HasSnapshot, int]]:
        return LanceFragment, (self._ds, self.fragment_id)

    @property
    def fragment_id(self) -> int:
        """The id of the fragment, unique in the table and never reused."""
        return self._id

    @property
    def _fragment(self) -> Fragment:
        """The fragment in the manifest, which is decoded on first access."""
        return self._snapshot.fragment(self._id)

    @property
    def metadata(self) -> FragmentMetadata:
        """The fragment's files, row count and deletion file."""
        return FragmentMetadata.of(self._fragment, self.physical_rows)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the table."""
        return self._snapshot.schema.to_arrow()

    @property
    def partition_expression(self) -> NoReturn:
        """Not supported, as in pylance: tables have no partitions."""
        raise UnsupportedFeatureError("tables have no partitions")

    @property
    def physical_schema(self) -> pa.Schema:
        """The schema of the columns that the fragment's files contain."""
        held = {
            field_id for file in self._fragment.files for field_id in file.fields if field_id >= 0
        }
        schema = self._snapshot.schema
        absent = [id_ for field in schema.fields for id_ in _absent(field, held)]
        return schema.without_ids(absent).to_arrow()

    @property
    def physical_rows(self) -> int:
        """The number of rows in the files, including deleted ones."""
        return self._snapshot.physical_rows(self._fragment)

    @property
    def num_deletions(self) -> int:
        """The number of deleted rows."""
        return self.physical_rows - self._snapshot.live_rows(self._fragment)

    def data_files(self) -> list[DataFile]:
        """The files that hold the fragment's columns."""
        return self.metadata.files

    def deletion_file(self) -> str | None:
        """The path of the deletion file in the table or base path; None without deletions."""
        file = self._fragment.deletion_file
        if file is None:
            return None
        return file.store_path(self.fragment_id, self._snapshot.base(file.base_id))

    def count_rows(self, filter: str | pc.Expression | None = None) -> int:
        """The number of rows that are not deleted and satisfy ``filter``."""
        if filter is None:
            return self._snapshot.live_rows(self._fragment)
        return self.scanner(columns=[], filter=filter).count_rows()

    def scanner(
        self, *, columns: Columns = None, **options: Unpack[FragmentScanArguments]
    ) -> LanceScanner:
        """A scan of this fragment; see `LanceDataset.scanner` for the options."""
        arguments = {"columns": columns, "fragments": [self], **options}
        return LanceScanner(self._snapshot, options_of(arguments), lambda _: self)

    def to_table(
        self, columns: Columns = None, **options: Unpack[FragmentScanArguments]
    ) -> pa.Table:
        """The rows of this fragment as a table.

        ``filter``, ``limit``, ``order_by`` and others are those of `LanceDataset.scanner`.
        """
        return self.scanner(columns=columns, **options).to_table()

    def to_batches(
        self, *, columns: Columns = None, **options: Unpack[FragmentScanArguments]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of this fragment as record batches.

        ``batch_size``, ``filter`` and others are those of `LanceDataset.scanner`.
        """
        return self.scanner(columns=columns, **options).to_batches()

    def to_pandas(
        self, columns: Columns = None, **options: Unpack[FragmentPandasArguments]
    ) -> pd.DataFrame:
        """The rows as a data frame; see `LanceDataset.to_pandas` for the options."""
        of_scan, of_pandas = split_options(options)
        return self.scanner(columns=columns, **of_scan).to_pandas(**of_pandas)

    def head(self, num_rows: int, **options: Unpack[HeadArguments]) -> pa.Table:
        """The first ``num_rows`` rows; other arguments are those of `LanceDataset.scanner`."""
        return self.scanner(limit=num_rows, **options).to_table()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for whatever reads Arrow's streams, such as ``pyarrow.table(fragment)``."""
        return self.scanner().to_reader().__arrow_c_stream__(requested_schema)

    def take(self, indices: Indices, columns: Columns = None) -> pa.Table:
        """Rows by their position among the fragment's live rows; see `LanceDataset.take`."""
        projection = taking.columns_of(self._snapshot, columns)
        return taking.take_in_fragment(self._snapshot, self._fragment, indices, projection)

    def open_session(
        self, columns: Columns = None, with_row_address: bool | None = None
    ) -> FragmentSession:
        """A session for several takes of the same columns from this fragment."""
        extra = [ROW_ADDRESS] if with_row_address else []
        projection = select(self._snapshot.schema_with_descriptions, columns, extra)
        return FragmentSession(self._snapshot, self._fragment, projection)

    def delete(self, predicate: str | pc.Expression) -> FragmentMetadata | None:
        """Write a deletion file for the rows that satisfy ``predicate``, without committing it.

        Returns the fragment for a `LanceOperation.Delete`, or None if no row is left: then put its
        id into the operation's ``deleted_fragment_ids``.
        """
        deleted_offsets = deletions.find(
            self._snapshot, deletions.plan_of(self._snapshot, predicate, [self])
        )
        return self._without(deleted_offsets.get(self.fragment_id))

    def delete_rows(self, offsets: Iterable[int]) -> FragmentMetadata | None:
        """Like `delete`, for the rows at these physical offsets; some may be deleted already.

        Raises `InvalidInputError` for an offset past the fragment's rows.
        """
        rows = deletions.as_offsets(offsets, self.physical_rows)
        existing = self._snapshot.deleted_offsets(self._fragment)
        if existing is not None:
            rows = np.setdiff1d(rows, existing, assume_unique=True)
        return self._without(rows)

    def _without(self, rows: RowOffsets | None) -> FragmentMetadata | None:
        """The fragment after deletion of ``rows`` (live rows) as well; None if no row is left."""
        if rows is None or len(rows) == 0:
            return self.metadata
        written = deletions.write_deletions(self._snapshot, {self.fragment_id: rows})
        if not written.updated:
            return None
        return FragmentMetadata.of(written.updated[0], self.physical_rows)

    def merge(
        self,
        data_obj: ReaderLike,
        left_on: str,
        right_on: str | None = None,
        schema: pa.Schema | None = None,
    ) -> tuple[FragmentMetadata, LanceSchema]:
        """Write the columns of ``data_obj`` as new columns by a left join, without committing them.

        Returns the fragment and the schema for a `LanceOperation.Merge`. See `LanceDataset.merge`
        for arguments and errors.
        """
        reader = udf.as_reader(data_obj, schema)
        written, added = merging.merge_fragment(
            self._snapshot, self._fragment, reader, left_on, right_on or left_on
        )
        return FragmentMetadata.of(written, self.physical_rows), LanceSchema(added.schema)

    def merge_columns(
        self,
        value_func: Mapping[str, str] | udf.BatchUDF | ReaderLike,
        columns: list[str] | None = None,
        batch_size: int | None = None,
        reader_schema: pa.Schema | None = None,
    ) -> tuple[FragmentMetadata, LanceSchema]:
        """Write new columns without committing them.

        Returns the fragment and the schema for a `LanceOperation.Merge`. See
        `LanceDataset.add_columns` for arguments and errors: ``value_func`` are the transforms and
        ``columns`` the columns to read. A checkpoint file is for whole tables only.
        """
        transform = adding.as_transform(self._snapshot, value_func, columns, reader_schema, [self])
        if isinstance(transform, udf.BatchUDF) and transform.cache is not None:
            raise InvalidInputError("A checkpoint file cannot be used with merge_columns")
        written, schema = adding.add_to_fragment(
            self._snapshot, self._fragment, transform, columns, batch_size
        )
        return FragmentMetadata.of(written, self.physical_rows), LanceSchema(schema)

    def update_columns(
        self,
        data_obj: ReaderLike,
        left_on: str = "_rowid",
        right_on: str | None = None,
        schema: pa.Schema | None = None,
        *,
        with_offsets: bool = False,
    ) -> tuple[FragmentMetadata, list[int]] | tuple[FragmentMetadata, list[int], bytes]:
        """Write new values of columns for rows that match ``data_obj``, without committing them.

        Returns the fragment and the ids of the updated fields for a `LanceOperation.Update`. With
        ``with_offsets`` also the physical offsets of the updated rows as a Roaring bitmap, for the
        operation's ``updated_fragment_offsets``. See `LanceDataset.merge` for the arguments. Raises
        `SchemaMismatchError` for columns that the table does not have, or of other types.
        """
        reader = udf.as_reader(data_obj, schema)
        updated = update_columns.update_columns(
            self._snapshot, self._fragment, reader, left_on, right_on or left_on
        )
        fragment = FragmentMetadata.of(updated.fragment, self.physical_rows)
        if not with_offsets:
            return fragment, list(updated.fields)
        return fragment, list(updated.fields), updated.offsets_bitmap()

    def validate(self) -> None:
        """Open every file of the fragment and compare its row counts with the manifest.

        Raises `CorruptFileError` for a difference.
        """
        check_fragment(self._snapshot, self._fragment)

    def check_pages(self, columns: Sequence[str] | None = None) -> int:
        """Check the files of the fragment, or their pages of ``columns``, against their checksums.

        Returns the bytes of pages that have checksums. Raises `CorruptFileError` naming file,
        column, page and offset.
        """
        return check_pages(self._snapshot, self._fragment, columns)
