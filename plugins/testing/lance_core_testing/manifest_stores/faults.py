"""Part of the contract of external manifest stores: outcomes of calls when the service fails."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from lance_core.errors import (
    ExistsError,
    NotFoundError,
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.hookspecs.commits import ExternalManifestStore, ManifestEntry
from lance_core_testing.assertions import must_raise
from lance_core_testing.service import FaultyService, ServiceFault

REQUESTS_OF_A_CALL = range(1, 4)
"""Numbers of the request that fails."""


class RowFaultTests:
    """Lost requests, lost answers, refused connections and outages."""

    def test_what_is_said_not_to_be_applied_is_not(
        self, rows: ExternalManifestStore, failing: FaultyService, base_uri: str
    ) -> None:
        rows.put_if_absent(base_uri, _entry(base_uri, 1, "first"))
        cases = itertools.product(ServiceFault, REQUESTS_OF_A_CALL, (False, True))
        for number, (fault, nth, is_lasting) in enumerate(cases):
            what = f"request {nth} to the service: {fault.value}"
            added = _entry(base_uri, 2 + number, "added")
            replaced = _entry(base_uri, 1, f"replaced-{number}")
            for name, call, entry in (
                ("put_if_absent", rows.put_if_absent, added),
                ("put_if_present", rows.put_if_present, replaced),
            ):
                before = rows.get(base_uri, entry.version)
                failing.fail(fault, nth, is_lasting)
                ending = _ending(lambda call=call, entry=entry: call(base_uri, entry))  # type: ignore[misc]  # bound by its defaults
                failing.heal()
                after = rows.get(base_uri, entry.version)
                _check_ending(f"{what}: {name}", ending, (before, after, entry))
                if name == "put_if_absent" and after is None:
                    rows.put_if_absent(base_uri, entry)

    def test_a_write_that_the_service_refuses_is_not_called_unknown(
        self, rows: ExternalManifestStore, failing: FaultyService, base_uri: str
    ) -> None:
        if not failing.refusals_are_known:
            return
        first = _entry(base_uri, 1, "first")
        rows.put_if_absent(base_uri, first)
        for name, call, version in (
            ("put_if_absent", rows.put_if_absent, 2),
            ("put_if_present", rows.put_if_present, 1),
        ):
            failing.fail(ServiceFault.REFUSED, is_lasting=True)
            with must_raise(StoreError, f"{name} while every connection is refused") as caught:
                call(base_uri, _entry(base_uri, version, "second"))
            failing.heal()
            assert not isinstance(caught.error, OutcomeUnknownError), (
                f"{name} raised {caught.error!r} though every connection was refused; it must "
                "raise a StoreError that says that nothing was applied"
            )

    def test_an_outage_is_an_error_and_no_answer(
        self, rows: ExternalManifestStore, failing: FaultyService, base_uri: str
    ) -> None:
        first, second = _entry(base_uri, 1, "first"), _entry(base_uri, 2, "second")
        rows.put_if_absent(base_uri, first)
        failing.fail(ServiceFault.REFUSED, is_lasting=True)
        with must_raise(StoreError, "get while the service refuses everything"):
            rows.get(base_uri, 1)
        with must_raise(StoreError, "get_latest while the service refuses everything"):
            rows.get_latest(base_uri)
        ending = _ending(lambda: rows.put_if_absent(base_uri, second))
        failing.heal()
        assert ending is not None, "put_if_absent returned while the service refused everything"
        assert not isinstance(ending, ExistsError | NotFoundError), (
            f"put_if_absent raised {ending!r} while the service refused everything; it must not "
            "say anything of the rows"
        )
        latest = rows.get_latest(base_uri)
        assert latest == first, f"after an outage get_latest gave {latest}; it must give {first}"
        rows.put_if_absent(base_uri, second)
        latest = rows.get_latest(base_uri)
        assert latest == second, f"after an outage get_latest gave {latest}; it must give {second}"


def _entry(base_uri: str, version: int, name: str) -> ManifestEntry:
    return ManifestEntry(version, f"{base_uri}/_versions/{version}.manifest-{name}", version)


def _ending(call: Callable[[], object]) -> Exception | None:
    """The error with which a call ended; None: it returned."""
    try:
        call()
    except Exception as error:
        return error
    return None


def _check_ending(
    what: str,
    ending: Exception | None,
    rows: tuple[ManifestEntry | None, ManifestEntry | None, ManifestEntry],
) -> None:
    """Check the outcome; ``rows``: the row before the call, after it, and the one to write."""
    before, after, written = rows
    if ending is None:
        assert after == written, f"{what} returned, but the row is {after}; it must be {written}"
    elif isinstance(ending, ObjectExistsError):
        assert after is not None, f"{what} raised {ending!r}, but there is no row"
    elif isinstance(ending, StoreError | NotFoundError) and not isinstance(
        ending, OutcomeUnknownError
    ):
        assert after == before, (
            f"{what} raised {ending!r}, which says that nothing was applied, but the row was "
            f"{before} and is {after}; after a lost answer it must raise OutcomeUnknownError"
        )
    assert after in (before, written), f"{what} left the row {after}, which nobody wrote"
