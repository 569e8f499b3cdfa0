"""Filters in environments without and with the extra that has their functions."""

from __future__ import annotations

import pytest

from tests.packaging.distributions import linked
from tests.packaging.environments import Environment

pytestmark = [pytest.mark.wheels, pytest.mark.xdist_group("wheels")]

WRITE = """
import lance_core as lance, pyarrow as pa
rows = pa.table({"id": range(100), "city": [f"c{n % 9}" for n in range(100)]})
lance.write_dataset(rows, "t.lance")
"""

REFUSED = """
import importlib.util, sys
import lance_core as lance
assert importlib.util.find_spec("lance_core_functions") is None
table = lance.dataset(sys.argv[1])
text = "city || '!' ~ 'c[12]' AND CASE WHEN id > 5 THEN true END AND coalesce(city, '') LIKE 'c%'"
assert table.count_rows(text) == 20, table.count_rows(text)
pip = 'pip install "lance-core[functions]"'
for use in (
    lambda: table.count_rows("upper(city) = 'C1'"),
    lambda: table.to_table(columns={"x": "length(city)"}),
    lambda: table.update({"city": "concat(city, 'x')"}, where="id < 9"),
    lambda: table.delete("id < 9 OR abs(id) = 50"),
):
    try: use()
    except lance.errors.PluginNotFoundError as error: assert pip in str(error), error
    else: raise AssertionError
assert lance.dataset(sys.argv[1]).version == table.version
try: table.count_rows("uper(city) = 'C1'")
except lance.errors.UnsupportedFeatureError as error: print(error)
"""

ANSWERED = """
import sys
import lance_core as lance
from lance_core.plugins import get_manager
table = lance.dataset(sys.argv[1])
print(table.count_rows("upper(city) = 'C1' AND array_has([1, 2], 2)"))
assert not get_manager().failures, get_manager().failures
"""


def test_the_core_alone_refuses_functions_by_name_and_the_extra_brings_them(
    installed: Environment, core: Environment, tmp_path_factory: pytest.TempPathFactory
) -> None:
    core.python(WRITE)
    uri = str(core.folder / "t.lance")
    assert "uper is not supported in an expression: did you mean 'upper'?" in core.python(
        REFUSED, uri
    )
    for extra in ("functions", "indices"):
        made = linked(installed, f"lance-core[{extra}]", tmp_path_factory.mktemp(extra))
        assert made.python(ANSWERED, uri).split() == ["11"]
