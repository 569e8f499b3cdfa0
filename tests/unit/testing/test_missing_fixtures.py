"""A test class without a fixture fails with a sentence that says how to provide it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lance_core_testing import CommitHandlerTests, ExternalManifestStoreTests, ObjectStoreTests

SUITES = {
    CommitHandlerTests: ("open_store", "make_handler", "make_other"),
    ExternalManifestStoreTests: ("make_rows",),
    ObjectStoreTests: ("open_store",),
}


def fixture(suite: Any, name: str) -> Callable[..., object]:
    """The function of a fixture, without pytest around it."""
    function = getattr(type(suite), name)
    return getattr(function, "__wrapped__", None) or function._get_wrapped_function()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("suite", "name"), [(suite, name) for suite, names in SUITES.items() for name in names]
)
def test_a_missing_fixture_is_named(suite: type, name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"provide the fixture `{name}`"):
        fixture(suite(), name)(suite())


@pytest.mark.parametrize("suite", [CommitHandlerTests, ExternalManifestStoreTests])
def test_a_missing_service_fails_unless_a_reason_is_given(suite: type) -> None:
    kit = suite()
    with pytest.raises(NotImplementedError, match=r"fixture `service`.*without_service"):
        fixture(kit, "failing")(kit, None)
    kit.without_service = "it has none"
    with pytest.raises(pytest.skip.Exception, match="it has none"):
        fixture(kit, "failing")(kit, None)


def test_a_missing_second_table_is_skipped_only_for_a_reason() -> None:
    kit: Any = CommitHandlerTests()
    kit.tables_share_nothing = "each has a disk"
    with pytest.raises(pytest.skip.Exception, match="each has a disk"):
        fixture(kit, "make_other")(kit)
