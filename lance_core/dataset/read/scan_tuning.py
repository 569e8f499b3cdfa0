"""All numbers that steer a scan: windows, read-ahead, what is skipped, and what is read late.

Each number has its unit, its meaning, and what holds it in place: the group of benchmarks that
times or weighs what it changes (``python -m benchmarks --only GROUP``; ``bench-cloud`` is `tox -e
bench-cloud`), or, where there is none, what the number bounds. Limits of caches stand beside the
caches.
"""

from __future__ import annotations

from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True)
class TableWindows:
    """The windows of a whole result, of a count, and of a search for keys."""

    max_rows: int = 1 << 20
    """Maximum rows of a window. Bounds the memory of a window of narrow rows, and of a count."""

    per_thread: int = 1
    """Maximum windows for each thread. Each has a fixed cost for each column, for which threads
    wait for each other: two windows take 68 instead of 58 ms. Benchmark: ``wide``."""

    uneven: int = 2
    """How many times as many if the threads cannot share the spans evenly. Benchmark: ``cores``."""

    filter_rows: int = 1 << 19
    """Minimum rows of a window under a filter: fewer do not pay for another window. Benchmark:
    ``filters``."""

    search_rows: int = 1 << 16
    """Rows of a window under a filter and a limit. Bounds the rows that are tested in vain when
    the limit is reached."""

    chosen_rows: int = 1 << 10
    """Minimum rows of a window of rows that an index returned, some of which may be deleted.
    Bounds the number of windows under a small limit."""

    stored_bytes: int = 4 << 20
    """Minimum bytes in files of a window without a filter. Benchmark: ``ten``."""

    column_bytes: int = 128 << 10
    """Minimum bytes in files of each column of such a window. Benchmark: ``columns-wide``."""

    small_span_rows: int = 1 << 12
    small_span_bytes: int = 1 << 18
    """Average rows, and bytes in files, of spans below which threads make a scan slower.

    Each file of a small span needs Python's global lock several times. Two threads that hand it
    over take twice the processor time of one, which is more than they save, also for joined
    fragments. Benchmark: ``small-files``.
    """

    large_result: int = 64 << 20
    """Estimated bytes of a result from which a scan saves memory at the cost of time. Benchmark:
    ``memory``."""


@dataclass(frozen=True)
class StreamWindows:
    """The windows of a stream, which adapt to the bytes of those before them."""

    max_bytes: int = 12 << 20
    """Maximum bytes of a window in memory, also if it has few columns. Benchmark: ``memory``."""

    column_bytes: int = 448 << 10
    """Bytes of a window in memory at which each column aims: a window has a fixed cost for each.
    Fewer take less memory and more time. Benchmark: ``memory``."""

    wide_columns: int = 192
    """Columns from which on windows may exceed `max_bytes`, in proportion. Planning a column of a
    window in Python takes as long as decoding about 64 KiB of it, so each column of a wide window
    gets 64 KiB. Benchmark: ``columns-wide``."""

    probable_bytes: int = 16
    """Assumed bytes of a string or list that nothing is known of. Bounds the first window; later
    ones follow from what was read."""

    unknown_rows: int = 64
    """Rows of the first late read if rows have no fixed width. Bounds the memory of long values."""

    growth: int = 8
    """Maximum growth of the rows from one window to the next. It is large enough that few windows
    at the begin are small, and small enough that a window with longer rows than before does not
    exceed its bytes much. Bounds these bytes."""

    min_rest: int = 4
    """A window gets the rest of its span if that has less than this part of the rows of a window.
    Benchmark: ``compaction``."""


@dataclass(frozen=True)
class DecodedBytes:
    """Limits of what a window decodes to: a page may hold a thousand times its stored bytes."""

    stream_windows: int = 4
    """Maximum bytes of a window of a stream, as a multiple of those that it aims at. Bounds the
    memory of long rows; dividing a window costs the time of reading a part of it again."""

    min_stream: int = 1 << 20
    """Minimum of these bytes: a chunk of a page is decoded whole, however few rows are read. Bounds
    how often windows are divided in vain."""

    table: int = 64 << 20
    """Maximum bytes of a window of a whole result under a filter, which may drop them. Bounds the
    memory of a filter of repeated long texts: 0.5 instead of 3 GB for 40,000 of 50 kB."""

    parts: int = 16
    """A window that exceeds its limit is read again in parts; the first has one row in so many.
    Bounds the times that it is divided."""

    target_share: int = 4
    """The parts aim at the limit divided by this. Bounds how many of them exceed it again."""


@dataclass(frozen=True)
class ColumnReads:
    """Which columns are read for all rows of a window, and which for the selected ones."""

    dense: int = 4
    """If at least one row in so many is selected, decoding all rows and filtering is faster.
    Benchmark: ``filters``."""

    dense_numbers: int = 22
    dense_texts: int = 2
    """`dense` for numbers, which are cheap to decode, and for strings, in local files from 2.1 on.
    Numbers of 2.0 files are never dense: they have Arrow's layout. Benchmark: ``filters``."""

    sparse: int = 96
    """If at most one row in so many satisfies the filter, one read may get the late columns for
    several windows: the fixed cost of a read exceeds that of its rows (27 instead of 70 ms for
    0.1 % of the rows). Benchmark: ``wide``."""

    late_rows: int = 1 << 15
    """Maximum rows of a whole result that one late read gets. Bounds the rows that wait."""

    at_once_bytes: int = 256 << 10
    """Maximum bytes of the other columns that are read together with the filter's columns for rows
    that indices returned: decoding them takes less time than a second read, and than a second
    request (1.42 instead of 1.99 ms). Benchmark: ``indices``."""

    group_bytes: int = 1 << 20
    """Bytes of the columns that are decoded for all rows and filtered together. Benchmark:
    ``columns-wide``."""


@dataclass(frozen=True)
class FragmentRuns:
    """Which consecutive small fragments are read as one."""

    first: int = 16
    most: int = 512
    """Maximum fragments of the first run of a stream, and of any run. The maximum doubles from run
    to run, because the reader of a stream may want the first rows only. Benchmark:
    ``small-files``."""

    first_of_take: int = 128
    """Maximum fragments of the first run of a take. A run as long as possible is faster for rows in
    fragments of 1,000 rows, and slower in fragments of 5,000. Benchmark: ``small-files``."""

    fewest: int = 4
    """Minimum fragments of a run: what is planned once for fewer saves less than it takes.
    Benchmark: ``small-files``."""

    max_rows: int = 1 << 24
    """Maximum rows of a run of which a take reads some. Bounds the row numbers of a run."""

    fragment_rows: int = 1 << 16
    file_bytes: int = 4 << 20
    """Maximum rows of a fragment in a run, and bytes of each of its files; larger ones gain
    nothing. Benchmark: ``small-files``."""

    file_columns: int = 256
    """Maximum columns of a file in a run. Bounds the metadata, which must be in the last bytes of
    the file that opening it reads."""

    alone: int = 32
    """If at most one fragment in so many of a run has requested rows, each is read alone.
    Benchmark: ``small-files``."""


@dataclass(frozen=True)
class ReadAhead:
    """What is read before it is requested, and by how many threads."""

    table_windows: int = 3
    stream_windows: int = 2
    """Windows that are read or queued for a whole result, and for a stream (plus one at its
    reader). Bounds memory. Benchmarks: ``cores``, ``memory``."""

    waiting_stream_windows: int = 6
    """`stream_windows` where reads wait for a remote store. Benchmark: ``bench-cloud``."""

    chosen_growth: int = 4
    """Maximum bytes to read for rows that a filter selected, as a multiple of the requested bytes.
    Bounds what a scan of a remote store reads in vain. Benchmark: ``bench-cloud``."""

    local_fragments: int = 8
    """Fragments from which a take reads rows, or a call blobs, at the same time. Bounds open files
    and memory."""


@dataclass(frozen=True)
class GivenRows:
    """Rows that are named by position, id or address."""

    threads_from: int = 1 << 15
    """Minimum rows for which decoding in threads is faster than in one. Benchmark: ``wide``."""

    max_named: int = 10_000
    """Maximum rows that a filter names which are looked up; for more, a scan of the meta column is
    faster. Benchmark: ``row-ids``."""

    max_gap: int = 4096
    """Maximum rows between two such rows that are read as one span. Bounds the rows that are read
    in vain, and the number of spans."""

    rewritten_rows: int = 1 << 17
    """Maximum rows that are read at once to be written again by an update. Bounds memory."""


@dataclass(frozen=True)
class BlobWindows:
    """Windows of results with the bytes of blobs."""

    sized_rows: int = 1 << 14
    """Rows whose descriptions are read at a time to compute the sizes of windows. Bounds memory."""

    unknown_bytes: int = 8 << 20
    """Assumed bytes of an external blob without a recorded size. Bounds the blobs of a window."""


@dataclass(frozen=True)
class Sorting:
    """Scans with an order."""

    first_rows: int = 1 << 14
    """Rows that are sorted before the first comparison with the best rows so far. Benchmark:
    ``filters``."""

    rows_per_winner: int = 32
    """Minimum rows of a scan for each row of its result at which the columns are read in two steps:
    first those to sort by. Benchmark: ``filters``."""

    memory: int = 512 << 20
    """Bytes of memory for a sort of all rows; more are sorted on disk. Bounds memory."""

    memory_share: float = 4 / 5
    """The share of it for sorted runs. Bounds the rest, for rows that the scan hands over."""

    max_run_bytes: int = 1 << 30
    """Maximum bytes of rows that are sorted in memory. Bounds their keys, for one array."""

    small_memory: int = 64 << 20
    """Bytes of memory below which a scan is cut into parts. Bounds its windows, which would take
    most of the memory."""

    min_part_rows: int = 1 << 10
    """Minimum rows of each part of such a scan. Bounds the number of parts."""


@dataclass(frozen=True)
class IndexSearches:
    """The search of indices for a filter."""

    max_calls: int = 1000
    """Maximum calls in a condition that is translated. Bounds the time of planning."""

    max_indices: int = 64
    """Maximum indices of a field among which a query chooses; the first ones of the version.
    Bounds the time of planning."""

    max_failures: int = 8
    """Indices that fail until a scan goes without any. Bounds the attempts, each of which looks
    through all of them."""


@dataclass(frozen=True)
class Ranking:
    """Scans with a search, which return the best rows for a query."""

    few_rows: int = 1 << 13
    few_bytes: int = 4 << 20
    """Rows of a filter, and bytes of their values, up to which these are ranked, also if an index
    covers them: answers are exact. Bounds the values that are read instead of an index. Benchmark:
    ``vectors``."""

    request_bytes: int = 1 << 16
    """Assumed bytes of a row that is read from a remote store. Bounds the requests for
    `few_bytes`."""

    uncovered_rows: int = 1 << 16
    """Rows that an index does not cover, and a fifth of all, from which a search warns of them.
    Bounds the time that a search takes without anybody knowing why."""

    tested_bytes: int = 8 << 20
    """Bytes of the columns of a filter from which an index first ranks without it, and only the
    best rows are tested: to test all takes longer than a search. Benchmark: ``vectors``."""

    tested_rows: int = 1 << 13
    """Maximum rows of a query for which a filter is tested after they are ranked: to read their
    columns takes as long as to read those of many more rows. Benchmark: ``text``."""

    cheap_bytes: int = 1 << 20
    deep_rows: int = 1 << 9
    """As `tested_bytes`, for a query for which an index ranks so many rows in about the time of
    few, if no search before had the filter. Benchmark: ``text``."""

    remembered_bytes: int = 32 << 20
    seen_filters: int = 64
    """Bytes of the rows of filters that a version remembers, a bit for each row, and the filters
    that it knows to be repeated. Bounds memory. Benchmark: ``text``."""

    growth: int = 4
    """How many times as many rows as are wanted are ranked before the filter is tested, and the
    next time if scores of the first ones are out of a range. Bounds the rows that are ranked in
    vain."""

    window_rows: int = 1 << 17
    """Maximum rows that are ranked at once. Bounds memory for narrow values; wide ones are ranked
    window by window, see `StreamWindows`."""

    taken_rows: int = 1 << 14
    taken_bytes: int = 32 << 20
    """Maximum rows, and bytes of their values, that are read at once by their addresses. Bounds
    memory."""


@dataclass(frozen=True)
class ScanTuning:
    """The numbers of a scan, in the order in which it uses them."""

    indices: IndexSearches = IndexSearches()
    rows: GivenRows = GivenRows()
    runs: FragmentRuns = FragmentRuns()
    table: TableWindows = TableWindows()
    stream: StreamWindows = StreamWindows()
    blobs: BlobWindows = BlobWindows()
    ahead: ReadAhead = ReadAhead()
    columns: ColumnReads = ColumnReads()
    decoded: DecodedBytes = DecodedBytes()
    sort: Sorting = Sorting()
    ranking: Ranking = Ranking()


TUNING = ScanTuning()


def tuning() -> ScanTuning:
    """The numbers that this process uses."""
    return TUNING
