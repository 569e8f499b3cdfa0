"""The methods of `LanceDataset` for indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lance_core.dataset.mixin_base import Opened
from lance_core.errors import InvalidInputError
from lance_core.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.dataset.maintenance.indices import create as creating
    from lance_core.dataset.values.index import Index
    from lance_core.dataset.values.index_config import IndexConfig
    from lance_core.dataset.values.progress import IndexProgress
else:
    creating = lazy_module("lance_core.dataset.maintenance.indices.create")


class IndexMethods(Opened):
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
        **parameters: Any,
    ) -> None:
        """Index a column, and move to the new version; later scans with a filter use the index.

        ``column``: a column, or the path of a member of a struct (``"s.x"``). ``index_type``: the
        name of a type (``"BTREE"``, ``"BITMAP"``, ``"LABEL_LIST"``, ``"ZONEMAP"``,
        ``"BLOOMFILTER"``, ``"NGRAM"``, or that of a plugin) or an `IndexConfig` with parameters,
        which may also be given as ``parameters``. ``name``: by default ``<column>_idx``.
        ``replace``: True replaces an index of the same name; an index without a name replaces the
        one of the same column and type. ``train``: False commits an empty index, which
        ``optimize.optimize_indices`` fills. ``progress_callback`` is called with `IndexProgress`.

        Rows that are added later are searched without the index until
        ``optimize.optimize_indices``. If another writer replaces the indexed rows at the same time,
        the index is built again.

        Raises `ColumnNotFoundError`, `InvalidTypeError` for a column that cannot have such an
        index, `UnsupportedFeatureError` for an unknown type, `IndexNameError` if the name is taken
        or reserved, `InvalidInputError` for wrong parameters and for ``fragment_ids`` (see
        `create_index_uncommitted`), `CommitConflictError` if another writer has created an index
        of the same name, and `CorruptFileError` for corrupt files.
        """
        if fragment_ids is not None:
            raise InvalidInputError(
                "an index of some fragments is a segment: use create_index_uncommitted(..., "
                "fragment_ids=...) and commit_existing_index_segments"
            )
        new = creating.NewIndex(
            column, index_type, parameters, name, replace, train, index_uuid, progress_callback
        )
        self._snapshot = creating.create(self._snapshot, new)

    def create_index_uncommitted(  # noqa: PLR0913 (as above)
        self,
        column: str | Sequence[str],
        index_type: str | IndexConfig,
        name: str | None = None,
        *,
        replace: bool = False,
        train: bool = True,
        fragment_ids: Sequence[int] | None = None,
        index_uuid: str | None = None,
        **parameters: Any,
    ) -> Index:
        """Write a segment of an index, for the rows of some fragments, without a commit.

        Other processes may write the segments of other fragments at the same time.
        `commit_existing_index_segments` commits them as one index. See `create_scalar_index` for
        the arguments and errors; ``replace`` must be True if an index of the name exists.
        """
        if fragment_ids is None:
            raise InvalidInputError("create_index_uncommitted needs fragment_ids")
        progress_callback = parameters.pop("progress_callback", None)
        new = creating.NewIndex(
            column, index_type, parameters, name, replace, train, index_uuid, progress_callback
        )
        return creating.create_uncommitted(self._snapshot, new, fragment_ids)

    def drop_index(self, name: str) -> None:
        """Remove an index, and move to the new version; a cleanup removes its files later.

        Raises `IndexNotFoundError`.
        """
        self._snapshot = creating.drop(self._snapshot, name)
