"""`LanceOperation`: the changes of a table that users pass to a commit."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import field

import pyarrow as pa

from lance_core.dataset.values.base_path import DatasetBasePath
from lance_core.dataset.values.fragment_metadata import DataFile, FragmentMetadata, stored_file
from lance_core.dataset.values.index import Index, to_uuid
from lance_core.dataset.values.to_stored import (
    check_fragments,
    check_text,
    checked_updates,
    to_bases,
    to_fragments,
    to_version,
)
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import LanceSchema, stored_schema
from lance_core.table.indices.index_metadata import IndexDetails
from lance_core.table.transactions import operations as stored

UPDATE_MODES = {
    "": stored.UpdateMode.REWRITE_ROWS,
    "rewrite_rows": stored.UpdateMode.REWRITE_ROWS,
    "rewrite_columns": stored.UpdateMode.REWRITE_COLUMNS,
}
"""Update modes by name: where an update writes new values. The default rewrites rows."""


class LanceOperation:
    """A namespace with one class for each kind of change."""

    class BaseOperation(ABC):
        """A change of a table."""

        @abstractmethod
        def to_stored(self) -> stored.Operation:
            """The stored form of the operation, for a transaction."""

    @dataclass
    class Append(BaseOperation):
        """New rows, in fragments whose files are written."""

        fragments: list[FragmentMetadata]

        def __post_init__(self) -> None:
            check_fragments(self.fragments)

        def to_stored(self) -> stored.Operation:
            return stored.Append(to_fragments(self.fragments))

    @dataclass
    class Overwrite(BaseOperation):
        """A new table, or new content with its own schema for an existing one.

        Fragments get new ids. Raises `InvalidInputError` for fragments with deleted rows.
        ``initial_bases``: base paths of a new table.
        """

        new_schema: LanceSchema | pa.Schema
        fragments: list[FragmentMetadata]
        initial_bases: list[DatasetBasePath] | None = None

        def __post_init__(self) -> None:
            check_fragments(self.fragments)
            if any(fragment.deletion_file is not None for fragment in self.fragments):
                raise InvalidInputError("an Overwrite cannot take fragments with deleted rows")

        def to_stored(self) -> stored.Operation:
            bases = to_bases(self.initial_bases)
            return stored.Overwrite(
                to_fragments(self.fragments), stored_schema(self.new_schema), {}, bases
            )

    @dataclass
    class Delete(BaseOperation):
        """Deleted rows: fragments with new deletion files, and ids of fragments to remove.

        ``predicate``: the condition that selected the rows; only recorded.
        """

        updated_fragments: list[FragmentMetadata]
        deleted_fragment_ids: Iterable[int]
        predicate: str

        def __post_init__(self) -> None:
            check_fragments(self.updated_fragments)

        def to_stored(self) -> stored.Operation:
            check_text(self.predicate)
            ids = tuple(self.deleted_fragment_ids)
            return stored.Delete(to_fragments(self.updated_fragments), ids, self.predicate)

    @dataclass
    class Update(BaseOperation):
        """New values for some rows.

        ``update_mode`` ``"rewrite_rows"`` (also ``""``): ``new_fragments`` hold the changed rows.
        ``"rewrite_columns"``: ``updated_fragments`` have new files for the changed columns.
        ``fields_modified``: ids of the fields with new values in the same fragments.
        ``fields_for_preserving_frag_bitmap``: ids of those with new values in new fragments;
        indices on other fields cover moved rows with stable ids, too.
        ``updated_fragment_offsets``: by fragment id, a Roaring bitmap of the changed row offsets.
        ``inserted_rows``: the filter of the keys that a merge inserts, by which a commit finds
        merges of the same new keys.
        """

        removed_fragment_ids: list[int] = field(default_factory=list)
        updated_fragments: list[FragmentMetadata] = field(default_factory=list)
        new_fragments: list[FragmentMetadata] = field(default_factory=list)
        fields_modified: list[int] = field(default_factory=list)
        fields_for_preserving_frag_bitmap: list[int] = field(default_factory=list)
        update_mode: str = ""
        updated_fragment_offsets: dict[int, bytes] | None = None
        inserted_rows: stored.KeyExistenceFilter | None = field(default=None, repr=False)

        def __post_init__(self) -> None:
            check_fragments(self.updated_fragments)
            check_fragments(self.new_fragments)

        def to_stored(self) -> stored.Operation:
            """The stored form of the operation; raises `InvalidInputError` for an unknown mode."""
            if self.update_mode not in UPDATE_MODES:
                raise InvalidInputError(f"unknown update_mode {self.update_mode!r}")
            return stored.Update(
                tuple(self.removed_fragment_ids),
                to_fragments(self.updated_fragments),
                to_fragments(self.new_fragments),
                tuple(self.fields_modified),
                tuple(self.fields_for_preserving_frag_bitmap),
                UPDATE_MODES[self.update_mode],
                inserted_rows=self.inserted_rows,
                updated_fragment_offsets=dict(self.updated_fragment_offsets or {}),
            )

    @dataclass
    class Merge(BaseOperation):
        """New columns: all fragments, with data files for the columns, and the new schema.

        ``preserves_nullability``: True if all new columns are nullable, so that a concurrent append
        without them fits the new schema.
        """

        fragments: list[FragmentMetadata]
        schema: LanceSchema | pa.Schema
        preserves_nullability: bool = False

        def __post_init__(self) -> None:
            if isinstance(self.schema, pa.Schema):
                warnings.warn(
                    "a pyarrow.Schema does not say the ids of its fields: pass a LanceSchema",
                    DeprecationWarning,
                    stacklevel=3,
                )
            check_fragments(self.fragments)

        def to_stored(self) -> stored.Operation:
            fragments, schema = to_fragments(self.fragments), stored_schema(self.schema)
            return stored.Merge(fragments, schema, self.preserves_nullability)

    @dataclass
    class Restore(BaseOperation):
        """The content of an older version becomes the newest version."""

        version: int

        def to_stored(self) -> stored.Operation:
            return stored.Restore(to_version(self.version))

    @dataclass
    class Clone(BaseOperation):
        """The first version of a clone or branch of ``ref_version`` of the table at ``ref_path``.

        ``ref_name``: branch of the source, None for the main branch. ``branch_name``: the new
        branch, None for a clone. Methods of `LanceDataset` create clones and branches.
        """

        is_shallow: bool
        ref_name: str | None
        ref_version: int
        ref_path: str
        branch_name: str | None

        def to_stored(self) -> stored.Operation:
            return stored.Clone(
                self.is_shallow,
                self.ref_name,
                to_version(self.ref_version),
                self.ref_path,
                self.branch_name,
            )

    @dataclass
    class RewriteGroup:
        """Old fragments, and the new ones that hold the same rows in the same order."""

        old_fragments: list[FragmentMetadata]
        new_fragments: list[FragmentMetadata]

    @dataclass
    class RewrittenIndex:
        """The UUID of an index, and of its replacement, which has the rewritten row addresses."""

        old_id: str
        new_id: str
        new_details_type_url: str
        new_details_value: bytes
        new_index_version: int

        def to_stored(self) -> stored.RewrittenIndex:
            details = IndexDetails(self.new_details_type_url, self.new_details_value)
            old, new = to_uuid(self.old_id), to_uuid(self.new_id)
            return stored.RewrittenIndex(old, new, details, self.new_index_version)

    @dataclass
    class Rewrite(BaseOperation):
        """The same rows in new fragments (a compaction), and the indices rewritten for them."""

        groups: list[LanceOperation.RewriteGroup]
        rewritten_indices: list[LanceOperation.RewrittenIndex]

        def __post_init__(self) -> None:
            for group in self.groups:
                check_fragments([*group.old_fragments, *group.new_fragments])

        def to_stored(self) -> stored.Operation:
            groups = tuple(
                stored.RewriteGroup(to_fragments(g.old_fragments), to_fragments(g.new_fragments))
                for g in self.groups
            )
            return stored.Rewrite(groups, tuple(i.to_stored() for i in self.rewritten_indices))

    @dataclass
    class CreateIndex(BaseOperation):
        """Indices to add and indices to remove."""

        new_indices: list[Index]
        removed_indices: list[Index]

        def to_stored(self) -> stored.Operation:
            new = tuple(index.to_stored() for index in self.new_indices)
            return stored.CreateIndex(new, tuple(i.to_stored() for i in self.removed_indices))

    @dataclass
    class DataReplacementGroup:
        """A new file for some columns of all rows of a fragment."""

        fragment_id: int
        new_file: DataFile

    @dataclass
    class DataReplacement(BaseOperation):
        """New files for columns of fragments; all files hold the same fields."""

        replacements: list[LanceOperation.DataReplacementGroup]

        def to_stored(self) -> stored.Operation:
            return stored.DataReplacement(
                tuple(
                    stored.DataReplacementGroup(group.fragment_id, stored_file(group.new_file))
                    for group in self.replacements
                )
            )

    @dataclass
    class DataOverlayFile:
        """New values of some rows, by row offsets in the fragment.

        ``offsets``: one list for all fields, or one list for each field.
        """

        data_file: DataFile
        offsets: Iterable[int] | list[Iterable[int]]
        committed_version: int | None = None

    @dataclass
    class DataOverlayGroup:
        """Overlays of a fragment, older ones first."""

        fragment_id: int
        overlays: list[LanceOperation.DataOverlayFile]

    @dataclass
    class DataOverlay(BaseOperation):
        """New values that replace values of existing files on reads; commits do not support it."""

        groups: list[LanceOperation.DataOverlayGroup]

        def to_stored(self) -> stored.Operation:
            """Raises `UnsupportedFeatureError`."""
            raise UnsupportedFeatureError("data overlays are not supported")

    @dataclass
    class Project(BaseOperation):
        """The new schema after columns are dropped, renamed, reordered or made nullable.

        ``preserves_nullability``: True if every nullable column is still nullable.
        """

        schema: LanceSchema | pa.Schema
        preserves_nullability: bool = False

        def to_stored(self) -> stored.Operation:
            return stored.Project(stored_schema(self.schema), self.preserves_nullability)

    @dataclass
    class UpdateMap:
        """New values by key; None removes the key. ``replace`` removes all other keys."""

        updates: dict[str, str | None]
        replace: bool = False

        def to_stored(self) -> stored.UpdateMap:
            """The stored form; raises ``TypeError`` unless keys and values are text."""
            return stored.UpdateMap(checked_updates(self.updates), bool(self.replace))

    @dataclass
    class UpdateConfig(BaseOperation):
        """Updates of the config and of the metadata of the table, the schema and fields (by id)."""

        config_updates: LanceOperation.UpdateMap | None = None
        table_metadata_updates: LanceOperation.UpdateMap | None = None
        schema_metadata_updates: LanceOperation.UpdateMap | None = None
        field_metadata_updates: dict[int, LanceOperation.UpdateMap] | None = None

        def to_stored(self) -> stored.Operation:
            config, table = self.config_updates, self.table_metadata_updates
            schema, fields = self.schema_metadata_updates, self.field_metadata_updates or {}
            return stored.UpdateConfig(
                None if config is None else config.to_stored(),
                None if table is None else table.to_stored(),
                None if schema is None else schema.to_stored(),
                {field_id: update.to_stored() for field_id, update in fields.items()},
            )

    @dataclass
    class Stored(BaseOperation):
        """An operation of the table's history that has no public class."""

        operation: stored.Operation

        def to_stored(self) -> stored.Operation:
            return self.operation
