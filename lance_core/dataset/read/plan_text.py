"""The steps of a scan as text, for `LanceScanner.explain_plan` and `LanceScanner.analyze_plan`.

Steps have the names that pylance's plans use, the last one first; each is indented below the step
that it feeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from lance_core.dataset.expressions.filters import Value
from lance_core.dataset.read import scan
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, ROW_ID, required, select
from lance_core.dataset.read.columns.searched_field import searched_field
from lance_core.dataset.read.output import ordered_scan
from lance_core.dataset.read.plan import narrowed
from lance_core.dataset.read.ranking.index_search import IndexSearch
from lance_core.dataset.read.ranking.rank_indices import ranking_index
from lance_core.dataset.read.sources.prefilter.prefilter import IndexedRows, unused_indices
from lance_core.dataset.read.sources.row_source import SpanRows
from lance_core.errors import printable

if TYPE_CHECKING:
    from lance_core.dataset.read.columns.ordering import ColumnOrdering
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.ranking.ranked_scan import RankedScan
    from lance_core.dataset.read.scan_metrics import StepMetrics
    from lance_core.dataset.read.scan_options import ScanOptions
    from lance_core.dataset.read.sources.prefilter.prefilter import Prefilter
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.schema import Field


class PlanStep(NamedTuple):
    """One step: its name, what it does, and what was measured (None: nothing)."""

    name: str
    details: str
    metrics: str | None = None

    def __str__(self) -> str:
        text = f"{self.name}: {self.details}" if self.details else self.name
        return text if self.metrics is None else f"{text}, metrics=[{self.metrics}]"


class PlanText(str):
    """The text of a plan; its `repr` is the text itself. ``steps``: the last step first."""

    steps: tuple[PlanStep, ...]

    @classmethod
    def of(cls, steps: Sequence[PlanStep]) -> PlanText:
        """The text of ``steps``."""
        lines = ["  " * depth + str(step) for depth, step in enumerate(steps)]
        text = cls(printable("\n".join([*lines, ""])))
        text.steps = tuple(steps)
        return text

    def __repr__(self) -> str:
        return str(self)


def plan_steps(
    snapshot: Snapshot,
    plan: ScanPlan,
    options: ScanOptions,
    is_verbose: bool,
    is_count: bool = False,
) -> list[PlanStep]:
    """The steps of a scan with ``options``.

    ``is_verbose``: also read the statistics of files and state what they exclude. ``is_count``: the
    steps of counting the rows.
    """
    if is_count:
        plan = replace(plan, projection=select(plan.schema, ()), order=())
    steps = list(_steps(snapshot, plan, options.filter, is_verbose))
    is_usual = options.use_scalar_index is not False and not options.include_deleted_rows
    condition = plan.filter if is_usual else None
    unused = "" if condition is None else unused_indices(snapshot, condition)
    if unused:
        at = max(number for number, step in enumerate(steps) if step.name == "LanceRead")
        details = f"{steps[at].details}, unused_indices=[{unused}]"
        steps[at] = steps[at]._replace(details=details)
    return [PlanStep("AggregateExec", "aggr=[count(*)]"), *steps] if is_count else steps


def ranked_steps(
    snapshot: Snapshot, ranked: RankedScan, options: ScanOptions, is_verbose: bool
) -> list[PlanStep]:
    """The steps of a scan that ranks rows: the search, and the columns of the best rows."""
    query, plan = ranked.query, ranked.plan
    index = ranking_index(snapshot, query)
    order = "ASC" if query.ascending else "DESC"
    names = (
        f"{output.source.text} as {output.field.name}"
        if isinstance(output.source, Value)
        else output.field.name
        for output in ranked.outputs
    )
    steps = [
        PlanStep("ProjectionExec", f"expr=[{', '.join(names)}]"),
        PlanStep(
            "LanceRead",
            f"uri={snapshot.root.redacted_uri}, projection=[{_field_names(plan)}], "
            "source=stream(_rowaddr)",
        ),
    ]
    if ranked.order:
        keys = ", ".join(_ordering(by) for by, _ in ranked.order)
        steps.append(PlanStep("SortExec", f"expr=[{keys}]"))
    if ranked.condition is not None:
        steps.append(PlanStep("FilterExec", str(options.filter)))
    steps.append(
        PlanStep(
            "SortExec",
            f"TopK(fetch={query.k}), expr=[{query.score_name} {order} NULLS LAST, "
            "_rowaddr ASC NULLS LAST]",
        )
    )
    num_others = 1
    if index is not None:
        query = index.query
        search = IndexSearch(snapshot, plan, index, skips_others=ranked.skips_others)
        num_others = search.num_others
        name, text = query.step(index.stored.name)
        if num_others:
            text += f", uncovered fragments={num_others}"
        if plan.filter is not None:
            text += f", filter=[{'of the best rows' if search.tests_best else 'of all rows'}]"
        if plan.metrics is not None and plan.metrics.ranking:
            text += f", decided=[{'; '.join(plan.metrics.ranking)}]"
        steps.append(PlanStep(name, text))
    if num_others:
        steps.append(PlanStep(*query.step(None)))
    projection = searched_field(plan.schema, query.column).projection(plan.schema, query.column)
    searched = replace(plan, projection=projection, limit=None, offset=0)
    steps += list(_steps(snapshot, searched, options.filter, is_verbose))[1:]
    return steps


def _field_names(plan: ScanPlan) -> str:
    return ", ".join(field.name for field in plan.projection.fields)


def _steps(
    snapshot: Snapshot, plan: ScanPlan, condition: object, is_verbose: bool
) -> Iterator[PlanStep]:
    full, search = plan, _index_search(plan)
    if search is not None:
        plan = replace(plan, rows=SpanRows(plan.spans, search.rest))
    tested: tuple[Field, ...] = ()
    meta: tuple[str, ...] = ()
    if plan.filter is not None:
        tested, meta = required(plan.schema, plan.filter.columns)
    is_two_step = bool(plan.order) and ordered_scan.is_two_step(plan)
    first = ordered_scan.key_projection(plan).fields if is_two_step else plan.projection.fields
    late = _late_fields(plan, first, tested)
    early = [*tested, *(field for field in first if field not in late)]
    taken = _others(plan.projection.fields, early) if is_two_step else late
    is_computed = any(isinstance(output.source, Value) for output in plan.projection.outputs)
    if is_computed or taken:
        yield PlanStep("ProjectionExec", f"expr=[{', '.join(_expressions(plan))}]")
    uri = f"uri={snapshot.root.redacted_uri}"
    if taken:
        yield PlanStep("LanceRead", f"{uri}, {_columns(taken)}, source=stream(_rowaddr)")
    limit = plan.limit, plan.offset
    if plan.order:
        yield from _order_steps(plan)
        limit = None, 0
    if is_two_step:
        early = [*early, *late]
    columns = [*early, *late] if plan.filter is None else early
    yield PlanStep(
        "LanceRead",
        ", ".join([uri, _columns(columns), *_scope(snapshot, full, limit, meta, condition)]),
        _excluded(snapshot, plan) if is_verbose else None,
    )
    if search is not None:
        yield PlanStep("ScalarIndexQuery", f"query={search.text}")


def _index_search(plan: ScanPlan) -> Prefilter | None:
    """The search of indices for the rows of ``plan``, if any."""
    return plan.rows.search if isinstance(plan.rows, IndexedRows) else None


def _late_fields(
    plan: ScanPlan, fields: Iterable[Field], tested: Sequence[Field]
) -> tuple[Field, ...]:
    """The fields that are read for the rows that satisfy the filter."""
    if plan.filter is None or plan.late is False:
        return ()
    names = plan.late if isinstance(plan.late, frozenset) else None
    rest = _others(fields, tested)
    return tuple(field for field in rest if names is None or field.name in names)


def _others(fields: Iterable[Field], known: Iterable[Field]) -> tuple[Field, ...]:
    have = {field.name for field in known}
    return tuple(field for field in fields if field.name not in have)


def _columns(fields: Iterable[Field]) -> str:
    return f"projection=[{', '.join(dict.fromkeys(field.name for field in fields))}]"


def _expressions(plan: ScanPlan) -> Iterator[str]:
    for output in plan.projection.outputs:
        if isinstance(output.source, Value):
            yield f"{output.source.text} as {output.field.name}"
        else:
            yield output.field.name


def _order_steps(plan: ScanPlan) -> Iterator[PlanStep]:
    keys = ", ".join(_ordering(by) for by, _ in plan.order)
    if plan.limit is None:
        if plan.offset:
            yield PlanStep("GlobalLimitExec", f"skip={plan.offset}, fetch=None")
        yield PlanStep("SortExec", f"expr=[{keys}]")
        return
    yield PlanStep("GlobalLimitExec", f"skip={plan.offset}, fetch={plan.limit}")
    top = f"TopK(fetch={plan.offset + plan.limit}), " if ordered_scan.is_two_step(plan) else ""
    yield PlanStep("SortExec", f"{top}expr=[{keys}]")


def _ordering(by: ColumnOrdering) -> str:
    direction = "ASC" if by.ascending else "DESC"
    return f"{by.column_name} {direction} NULLS {'FIRST' if by.nulls_first else 'LAST'}"


def _scope(
    snapshot: Snapshot,
    plan: ScanPlan,
    limit: tuple[int | None, int],
    meta: Sequence[str],
    condition: object,
) -> Iterator[str]:
    """The rows of the first read."""
    if limit == (None, 0):
        fragments, rows = {span.fragment.id for span in plan.spans}, None
    else:
        spans = narrowed(snapshot, plan).spans
        fragments = {span.fragment.id for span in spans}
        count, offset = limit
        rows = f"Some({offset}..{'' if count is None else offset + count})"
    yield f"num_fragments={len(fragments)}"
    yield f"range_before={None if plan.is_selective else rows}"
    yield f"range_after={rows if plan.is_selective else None}"
    names = {*plan.projection.meta, *meta}
    yield f"row_id={str(ROW_ID in names).lower()}"
    yield f"row_addr={str(ROW_ADDRESS in names).lower()}"
    yield f"full_filter={'--' if plan.filter is None else condition}"
    search = _index_search(plan)
    if search is not None:
        yield f"refine_filter={search.rest_text}"
    if plan.mask is not None:
        yield "row_mask=true"
    if plan.includes_deleted:
        yield "deleted_rows=true"
    batch = f"batch_size={plan.batch_size}"
    yield batch if plan.batch_bytes is None else f"{batch}, batch_bytes={plan.batch_bytes}"


def _excluded(snapshot: Snapshot, plan: ScanPlan) -> str | None:
    runs, skipped = scan.skipped_runs(snapshot, plan)
    return f"skipping {skipped} of {runs} stored batches by their statistics" if runs else None


def analyzed(steps: Sequence[PlanStep], plan: ScanPlan, seconds: float) -> PlanText:
    """The text of ``steps`` with the metrics of ``plan``, whose scan took ``seconds``."""
    metrics = plan.metrics
    assert metrics is not None
    analyzed_steps = [PlanStep("AnalyzeExec", f"elapsed={seconds * 1e3:.3f}ms")]
    num_reads = len(steps) - (steps[-1].name == "ScalarIndexQuery")
    for number, step in enumerate(steps):
        text: str | None
        if number == num_reads:
            text = _searched(metrics.index)
        elif step.name == "AggregateExec":
            text = None
        elif step.name == "ProjectionExec":
            text = _output(metrics.result)
        elif step.name in ("SortExec", "GlobalLimitExec"):
            text = _output(metrics.sort)
        elif number + 1 < num_reads:
            text = f"{_output(metrics.late)}, {_reads(metrics.late)}"
        else:
            text = f"{_output(metrics.read)}, {_reads(metrics.read)}"
            if plan.filter is not None:
                # Rows that only indices have chosen are not tested.
                dropped = metrics.filter.rows_scanned - metrics.filter.output_rows
                rows = f"output_rows={metrics.read.output_rows - dropped}"
                text = f"{rows}, {text.partition(', ')[2]}, filter_time={_time(metrics.filter)}"
        analyzed_steps.append(step._replace(metrics=text))
    return PlanText.of(analyzed_steps)


def _searched(step: StepMetrics) -> str:
    return (
        f"output_rows={step.output_rows}, elapsed_compute={_time(step)}, "
        f"index_comparisons={step.ranges_scanned}"
    )


def _output(step: StepMetrics) -> str:
    return (
        f"output_rows={step.output_rows}, elapsed_compute={_time(step)}, "
        f"output_bytes={step.output_bytes}, output_batches={step.output_batches}"
    )


def _reads(step: StepMetrics) -> str:
    return (
        f"fragments_scanned={len(step.fragments)}, ranges_scanned={step.ranges_scanned}, "
        f"rows_scanned={step.rows_scanned}, bytes_read={step.bytes_read}, iops={step.iops}, "
        f"requests={step.requests}"
    )


def _time(step: StepMetrics) -> str:
    return f"{step.seconds * 1e3:.3f}ms"
