"""The one commit of a write, which the driver makes after all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import lance_core
from lance_core import LanceOperation
from lance_core.dataset.values.transaction import properties_of
from lance_core.errors import (
    AlreadyCommittedError,
    CommitConflictError,
    LanceError,
    RetryableCommitConflictError,
)
from lance_core.fragment import FragmentMetadata
from lance_core_spark.options.stream_options import LOOK_BACK
from lance_core_spark.write.plan import WritePlan, planned_transaction

MERGE_ATTEMPTS = 10
"""Maximum attempts to add columns beside other writers: each names all fragments of a version."""


def commit_write(plan: WritePlan, fragments: Sequence[FragmentMetadata]) -> None:
    """Commit ``fragments`` as the plan says; raises the errors of `LanceDataset.commit`."""
    if plan.condition_schema is not None and plan.base is not None:
        dataset = plan.table.open(plan.base.number)
        dataset.replace_rows(
            plan.options.replace_where or "",
            fragments,
            transaction_uuid=plan.transaction_uuid,
            transaction_properties=_properties(plan),
            **_once(plan),
        )
    elif isinstance(plan.operation, LanceOperation.Merge):
        _commit_merge(plan, plan.operation, fragments)
    else:
        _commit(plan, plan.read_version, _with_fragments(plan, fragments))


def may_be_committed(plan: WritePlan) -> bool:
    """True if a version may have the transaction, or if the history cannot be read."""
    try:
        dataset = plan.table.open_if_exists()
        if dataset is None:
            return False
        later = range(plan.read_version + 1, dataset.version + 1)
        transactions = [dataset.read_transaction(number) for number in later]
    except LanceError:
        return True
    return any(one is None or one.uuid == plan.transaction_uuid for one in transactions)


def _with_fragments(
    plan: WritePlan, fragments: Sequence[FragmentMetadata]
) -> LanceOperation.BaseOperation:
    if isinstance(plan.operation, LanceOperation.Overwrite):
        # Use the fields of the files: blobs have other fields in files than in the rows.
        return LanceOperation.Overwrite(plan.operation.new_schema, list(fragments))
    return LanceOperation.Append(list(fragments))


def _commit(plan: WritePlan, read_version: int, operation: LanceOperation.BaseOperation) -> None:
    properties = _properties(plan)
    options: dict[str, Any] = {**plan.options.commit, **_once(plan)}
    lance_core.LanceDataset.commit(
        plan.table.uri,
        lance_core.Transaction(read_version, operation, plan.transaction_uuid, properties),
        storage_options=plan.table.options,
        data_storage_version=plan.options.files.get("data_storage_version"),
        **options,
    )


def _properties(plan: WritePlan) -> dict[str, str]:
    return properties_of(plan.options.message, None if plan.key is None else plan.key.properties)


def _once(plan: WritePlan) -> dict[str, Any]:
    return {} if plan.key is None else {"is_committed": plan.key.is_committed}


def _commit_merge(
    plan: WritePlan, merge: LanceOperation.Merge, fragments: Sequence[FragmentMetadata]
) -> None:
    """Commit new columns and ``fragments``; on a newer version if others changed rows only."""
    dataset = plan.table.open(plan.read_version)
    for attempt in range(MERGE_ATTEMPTS):
        if attempt:
            dataset = plan.table.open()
            _check_same_fields(plan, merge, dataset)
        planned = planned_transaction(plan, dataset).operation
        assert isinstance(planned, LanceOperation.Merge)
        highest = dataset.max_fragment_id
        first_id = 0 if highest is None else highest + 1
        new = [replace(fragment, id=id_) for id_, fragment in enumerate(fragments, first_id)]
        operation = replace(planned, fragments=[*planned.fragments, *new])
        try:
            return _commit(plan, dataset.version, operation)
        except AlreadyCommittedError:
            raise
        except RetryableCommitConflictError:
            if attempt == MERGE_ATTEMPTS - 1:
                raise
    return None


def _check_same_fields(
    plan: WritePlan, merge: LanceOperation.Merge, dataset: lance_core.LanceDataset
) -> None:
    """Raise unless the files of the plan also fit the version ``dataset``."""
    if plan.key is not None and plan.key.find(dataset, plan.options.look_back or LOOK_BACK):
        raise AlreadyCommittedError("another run of the write has committed it", dataset.version)
    since = dataset.get_transactions(dataset.version - plan.read_version)
    others = (LanceOperation.Overwrite, LanceOperation.Restore)
    if any(one is None or isinstance(one.operation, others) for one in since):
        raise CommitConflictError(
            f"the table was overwritten after version {plan.read_version}, on which the write is "
            "based"
        )
    try:
        operation = planned_transaction(plan, dataset).operation
    except LanceError:
        operation = None
    if not isinstance(operation, LanceOperation.Merge) or operation.schema != merge.schema:
        raise RetryableCommitConflictError(
            f"another writer has changed the columns after version {plan.read_version}, on which "
            "the write is based; write again"
        )
