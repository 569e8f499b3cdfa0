"""The one commit of a write, which the driver makes after all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import lance_core
from lance_core import LanceOperation
from lance_core.dataset import LANCE_COMMIT_MESSAGE_KEY
from lance_core.errors import (
    AlreadyCommittedError,
    CommitConflictError,
    DatasetExistsError,
    LanceError,
    RetryableCommitConflictError,
)
from lance_core.fragment import FragmentMetadata
from lance_core.schema import LanceSchema
from lance_core_spark.options.stream_options import LOOK_BACK
from lance_core_spark.options.write_options import IF_EXISTS
from lance_core_spark.write.plan import WritePlan, planned_transaction

MERGE_ATTEMPTS = 10
"""Maximum attempts to add columns beside other writers: each names all fragments of a version."""


def commit_write(plan: WritePlan, fragments: Sequence[FragmentMetadata]) -> None:
    """Commit ``fragments`` as the plan says; raises the errors of `LanceDataset.commit`."""
    if isinstance(plan.operation, LanceOperation.Merge):
        _commit_merge(plan, plan.operation, fragments)
    elif plan.condition_schema is not None and plan.base is not None:
        _replace_rows(plan, plan.table.open(plan.base.number), fragments)
    else:
        try:
            _commit(plan, plan.read_version, _with_fragments(plan, fragments))
        except DatasetExistsError:
            if plan.mode != "create" or plan.options.if_exists != IF_EXISTS[0]:
                raise
            _append_to_new(plan, fragments)


def _append_to_new(plan: WritePlan, fragments: Sequence[FragmentMetadata]) -> None:
    """Append the rows to a table that another writer created during this write.

    The files have the fields of the plan, so the other table must have the same ones.
    """
    dataset = plan.table.open()
    if plan.key is not None and plan.key.find(dataset, plan.options.look_back or LOOK_BACK):
        raise AlreadyCommittedError("another run of the write has committed it", dataset.version)
    assert isinstance(plan.operation, LanceOperation.Overwrite)
    files = [file for fragment in fragments for file in fragment.files]
    versions = {(file.file_major_version, file.file_minor_version) for file in files}
    version = dataset.snapshot.storage_version.data_file
    if plan.operation.new_schema != dataset.lance_schema or not versions <= {version}:
        raise RetryableCommitConflictError(
            f"another writer has created the table {plan.table} in the meantime, with other "
            "columns, types or files of another version; write again"
        )
    _commit(plan, dataset.version, LanceOperation.Append(list(fragments)))


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
    return any(
        transaction is None or transaction.uuid == plan.transaction_uuid
        for transaction in transactions
    )


def _with_fragments(
    plan: WritePlan, fragments: Sequence[FragmentMetadata]
) -> LanceOperation.BaseOperation:
    if isinstance(plan.operation, LanceOperation.Overwrite):
        # Use the fields of the files: blobs have other fields in files than in the rows.
        return LanceOperation.Overwrite(plan.operation.new_schema, list(fragments))
    return LanceOperation.Append(list(fragments))


def _commit(plan: WritePlan, read_version: int, operation: LanceOperation.BaseOperation) -> None:
    properties = _properties(plan)
    version = plan.options.files.get("data_storage_version")
    options: dict[str, Any] = {
        **plan.options.commit,
        **_once(plan),
        "data_storage_version": version,
    }
    lance_core.LanceDataset.commit(
        plan.table.uri,
        lance_core.Transaction(read_version, operation, plan.transaction_uuid, properties),
        storage_options=plan.table.options,
        **options,
    )


def _properties(plan: WritePlan) -> dict[str, str]:
    properties = {} if plan.key is None else dict(plan.key.properties)
    if plan.options.message is not None:
        properties[LANCE_COMMIT_MESSAGE_KEY] = plan.options.message
    return properties


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
            _check_same_rows(plan, dataset)
        try:
            return _merge_once(plan, dataset, fragments)
        except AlreadyCommittedError:
            raise
        except RetryableCommitConflictError:
            if attempt == MERGE_ATTEMPTS - 1:
                raise
    return None


def _merge_once(
    plan: WritePlan, dataset: lance_core.LanceDataset, fragments: Sequence[FragmentMetadata]
) -> None:
    planned = planned_transaction(plan, dataset).operation
    assert isinstance(planned, LanceOperation.Merge)
    if plan.condition_schema is not None:
        _replace_rows(plan, dataset, fragments, planned.schema)
        return
    highest = dataset.max_fragment_id
    first_id = 0 if highest is None else highest + 1
    new = [replace(fragment, id=id_) for id_, fragment in enumerate(fragments, first_id)]
    operation = replace(planned, fragments=[*planned.fragments, *new])
    _commit(plan, dataset.version, operation)


def _replace_rows(
    plan: WritePlan,
    dataset: lance_core.LanceDataset,
    fragments: Sequence[FragmentMetadata],
    schema: LanceSchema | None = None,
) -> None:
    """Commit ``fragments`` in place of the rows that satisfy the condition of the plan."""
    dataset.replace_rows(
        plan.options.replace_where or "",
        fragments,
        transaction_uuid=plan.transaction_uuid,
        schema=schema,
        transaction_properties=_properties(plan),
        **_once(plan),
    )


def _check_same_fields(
    plan: WritePlan, merge: LanceOperation.Merge, dataset: lance_core.LanceDataset
) -> None:
    """Raise unless the files of the plan also fit the version ``dataset``."""
    if plan.key is not None and plan.key.find(dataset, plan.options.look_back or LOOK_BACK):
        raise AlreadyCommittedError("another run of the write has committed it", dataset.version)
    since = dataset.get_transactions(dataset.version - plan.read_version)
    others = (LanceOperation.Overwrite, LanceOperation.Restore)
    if any(
        transaction is None or isinstance(transaction.operation, others) for transaction in since
    ):
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


def _check_same_rows(plan: WritePlan, dataset: lance_core.LanceDataset) -> None:
    """Raise if others have changed the rows to replace, or have added some."""
    condition = plan.options.replace_where
    if condition is None:
        return
    before, now = (
        version.to_table(columns=[], filter=condition, with_row_address=True)
        for version in (plan.table.open(plan.read_version), dataset)
    )
    if before != now:
        raise RetryableCommitConflictError(
            "another writer has changed or added rows that satisfy the option 'replace_where' "
            f"after version {plan.read_version}, on which the write is based; write again"
        )
