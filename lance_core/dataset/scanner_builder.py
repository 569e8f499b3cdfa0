"""`ScannerBuilder`: set the options of a scan one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from lance_core.dataset.fragment import LanceFragment
from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.read.columns.ordering import ColumnOrdering
from lance_core.dataset.read.scan_options import BUILDER_NAMES, KNOWN, not_negative, options_of
from lance_core.dataset.scanner import LanceScanner
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.error_texts.suggestions import did_you_mean, shortened
from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from lance_core.dataset.arguments import NearestArguments
    from lance_core.dataset.read.scan_metrics import StatisticsCallback


@short_tracebacks
class ScannerBuilder:
    """The options of a scan of ``ds``; see `LanceDataset.scanner` for their meaning.

    Each method sets one option and returns the builder; `to_scanner` checks all of them.
    """

    def __init__(self, ds: DatasetBase) -> None:
        self.ds = ds
        self._options: dict[str, Any] = {}

    def _set(self, **options: Any) -> ScannerBuilder:
        self._options.update(options)
        return self

    def apply_defaults(self, default_opts: Mapping[str, Any]) -> ScannerBuilder:
        """Call the methods of these names; a dictionary holds the arguments of one.

        Raises `InvalidInputError` for a name that is neither a method nor an option of a scan.
        """
        for name, value in default_opts.items():
            known = {*BUILDER_NAMES, *KNOWN}
            if name not in known:
                similar = did_you_mean(name, known)
                raise InvalidInputError(f"Unknown option {shortened(name)}{similar}")
            method = getattr(self, name, None)
            if method is None:
                self._set(**{BUILDER_NAMES.get(name, name): value})
            elif isinstance(value, dict) and name not in ("columns", "filter"):
                method(**value)
            else:
                method(value)
        return self

    def batch_size(self, batch_size: int) -> ScannerBuilder:
        """Set the maximum rows of a batch."""
        return self._set(batch_size=batch_size)

    def batch_size_bytes(self, batch_size_bytes: int) -> ScannerBuilder:
        """Set the approximate maximum bytes of a batch."""
        return self._set(batch_size_bytes=batch_size_bytes)

    def io_buffer_size(self, io_buffer_size: int) -> ScannerBuilder:
        """Accepted for pylance's users; has no effect."""
        return self._set(io_buffer_size=io_buffer_size)

    def batch_readahead(self, nbatches: int | None = None) -> ScannerBuilder:
        """Accepted for pylance's users; has no effect.

        Raises `InvalidInputError` unless the number is positive.
        """
        if nbatches is not None and int(nbatches) <= 0:
            raise InvalidInputError("batch_readahead must be greater than 0")
        return self._set(batch_readahead=nbatches)

    def fragment_readahead(self, nfragments: int | None = None) -> ScannerBuilder:
        """Accepted for pylance's users; has no effect.

        Raises `InvalidInputError` for a negative number.
        """
        if nfragments is not None and int(nfragments) < 0:
            raise InvalidInputError("fragment_readahead must be non-negative")
        return self._set(fragment_readahead=nfragments)

    def scan_in_order(self, scan_in_order: bool = True) -> ScannerBuilder:
        """Accepted for pylance's users; scans are always in order."""
        return self._set(scan_in_order=scan_in_order)

    def limit(self, n: int | None = None) -> ScannerBuilder:
        """Set the maximum rows of the result. Raises `InvalidInputError` for a negative number."""
        return self._set(limit=not_negative(n, "Limit"))

    def offset(self, n: int | None = None) -> ScannerBuilder:
        """Set the number of rows to skip. Raises `InvalidInputError` for a negative number."""
        return self._set(offset=not_negative(n, "Offset"))

    def columns(self, cols: Sequence[str] | Mapping[str, str] | None = None) -> ScannerBuilder:
        """Set the columns: a list of names, or a dict from names to SQL expressions; None for all.

        Raises `InvalidTypeError` for other types.
        """
        if cols is not None and not isinstance(cols, list | tuple | Mapping):
            raise InvalidTypeError(
                f"columns must be a list or dict[name, expression], got {type(cols)}"
            )
        return self._set(columns=cols)

    def filter(self, filter: str | pc.Expression | Mapping[str, Any]) -> ScannerBuilder:
        """Set the condition on rows."""
        return self._set(filter=filter)

    def row_addr_prefilter(
        self, allowlist: bytes | None = None, blocklist: bytes | None = None
    ) -> ScannerBuilder:
        """Set the row ids that may be returned, and those that may not; see `serialize_row_addrs`.

        Without arguments, removes both.
        """
        return self._set(row_addr_allowlist=allowlist, row_addr_blocklist=blocklist)

    def prefilter(self, prefilter: bool) -> ScannerBuilder:
        """False filters the rows that a search returns, instead of those that it ranks."""
        return self._set(prefilter=prefilter)

    def with_row_id(self, with_row_id: bool = True) -> ScannerBuilder:
        """Add the column ``_rowid``."""
        return self._set(with_row_id=with_row_id)

    def with_row_address(self, with_row_address: bool = True) -> ScannerBuilder:
        """Add the column ``_rowaddr``."""
        return self._set(with_row_address=with_row_address)

    def late_materialization(self, late_materialization: bool | list[str]) -> ScannerBuilder:
        """Set which columns are read after the filter: all, none, or those with these names."""
        return self._set(late_materialization=late_materialization)

    def blob_handling(self, blob_handling: str | None) -> ScannerBuilder:
        """Set the form of blobs."""
        allowed = ("all_binary", "all_descriptions", "blobs_descriptions")
        if blob_handling is not None and blob_handling not in allowed:
            raise InvalidInputError(
                f"Invalid blob_handling: {blob_handling}. Expected one of: {', '.join(allowed)}"
            )
        return self._set(blob_handling=blob_handling)

    def use_stats(self, use_stats: bool = True) -> ScannerBuilder:
        """Set whether statistics in files may exclude rows."""
        return self._set(use_stats=use_stats)

    def use_scalar_index(self, use_scalar_index: bool = True) -> ScannerBuilder:
        """Set whether the filter uses the indices of the table."""
        return self._set(use_scalar_index=use_scalar_index)

    def with_fragments(self, fragments: Iterable[LanceFragment] | None) -> ScannerBuilder:
        """Scan only these fragments, in this order; None for all."""
        chosen = None if fragments is None else list(fragments)
        for fragment in chosen or ():
            if not hasattr(fragment, "fragment_id"):
                raise InvalidTypeError(
                    f"fragments must be an iterable of LanceFragment. Got {type(fragment)} instead."
                )
        return self._set(fragments=chosen)

    def fast_search(self, flag: bool) -> ScannerBuilder:
        """Set whether to skip fragments that are not indexed if the filter uses an index."""
        return self._set(fast_search=flag)

    def include_deleted_rows(self, flag: bool) -> ScannerBuilder:
        """Return deleted rows too, with a null ``_rowid``."""
        return self._set(include_deleted_rows=flag)

    def scan_stats_callback(self, callback: StatisticsCallback) -> ScannerBuilder:
        """Set a function that gets `ScanStatistics` after the scan; its errors are logged."""
        return self._set(scan_stats_callback=callback)

    def strict_batch_size(self, strict_batch_size: bool = False) -> ScannerBuilder:
        """Set whether all batches but the last must have the full size.

        A batch with more values than one array can hold, such as 2 GiB of strings, is divided.
        """
        return self._set(strict_batch_size=strict_batch_size)

    def order_by(self, orderings: Sequence[ColumnOrdering] | None) -> ScannerBuilder:
        """Set the order of the result; None for the order of the table."""
        for ordering in orderings or ():
            if not hasattr(ordering, "column_name"):
                raise InvalidTypeError(
                    f"orderings must be a list of ColumnOrdering. Got {type(ordering)} instead."
                )
        return self._set(order_by=orderings)

    def disable_scoring_autoprojection(self, disable: bool = True) -> ScannerBuilder:
        """Return the score of a search only if the columns name it."""
        return self._set(disable_scoring_autoprojection=disable)

    def with_index_segments(self, index_segments: Iterable[Any] | None) -> ScannerBuilder:
        """Not supported yet, except None."""
        return self._set(index_segments=index_segments)

    def nearest(
        self, column: str, q: Any, k: int | None = None, **options: Unpack[NearestArguments]
    ) -> ScannerBuilder:
        """Return the ``k`` rows whose vectors in ``column`` are nearest to ``q``.

        ``options``: further keys of the argument ``nearest`` of `LanceDataset.scanner`.
        """
        return self._set(nearest={"column": column, "q": q, "k": k, **options})

    def full_text_search(self, query: Any, columns: list[str] | None = None) -> ScannerBuilder:
        """Return the rows that match a text, or a query of `lance_core.query`, best first.

        ``columns``: those that a text is searched in; by default all that have a text index.
        """
        return self._set(full_text_query={"query": query, "columns": columns})

    def minhash_search(self, query: Any) -> NoReturn:
        """Not supported: raises `UnsupportedFeatureError`."""
        raise UnsupportedFeatureError("scans do not support 'minhash_search' yet")

    def substrait_aggregate(self, aggregate: bytes) -> NoReturn:
        """Not supported."""
        raise UnsupportedFeatureError("scans do not support 'substrait_aggregate'")

    def to_scanner(self) -> LanceScanner:
        """The scan with these options. Raises the errors of `LanceDataset.scanner`."""
        version = self.ds.of(self.ds.snapshot)  # stays as it is when the dataset moves on
        options = options_of(self._options)
        return LanceScanner(version.snapshot, options, partial(LanceFragment, version))
