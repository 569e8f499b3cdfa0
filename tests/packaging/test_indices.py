"""A table with indices in environments without and with the extra that has their types."""

from __future__ import annotations

import pytest

from tests.packaging.distributions import linked
from tests.packaging.environments import Environment

pytestmark = [pytest.mark.wheels, pytest.mark.xdist_group("wheels")]

FILTERS = ["id = 7", "city = 'c3' AND id < 50", "city LIKE '%new%'"]

WRITE = """
import lance_core as lance, pyarrow as pa
rows = pa.table({"id": range(1000), "city": [f"c{n % 9}" for n in range(1000)]})
table = lance.write_dataset(rows, "t.lance", max_rows_per_file=500)
table.create_scalar_index("id", "BTREE")
table.create_scalar_index("city", "BITMAP")
table.create_scalar_index("city", "NGRAM", name="city_ngram")
"""

USE = """
import importlib.util, sys
import lance_core as lance, pyarrow as pa
uri, *filters = sys.argv[1:]
assert importlib.util.find_spec("lance_core_indices") is None
pip = 'pip install "lance-core[indices]"'
table = lance.dataset(uri)
assert pip in table.scanner(filter="id = 7").explain_plan()
assert table.to_table(filter="id = 7")["city"].to_pylist() == ["c7"]
try: table.create_scalar_index("id", "BTREE", name="other")
except lance.errors.PluginNotFoundError as error: assert pip in str(error), error
else: raise AssertionError
table = lance.write_dataset(pa.table({"id": [7], "city": ["new"]}), table, mode="append")
table.update({"city": "'c3'"}, where="id = 4")
table.delete("id = 3")
merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
merge.execute(pa.table({"id": [12, 5000], "city": ["moved", "new"]}))
try: table.optimize.compact_files()
except lance.errors.PluginNotFoundError as error: assert "lance-core[compaction]" in str(error)
else: raise AssertionError
names = [one.name for one in lance.dataset(uri).describe_indices()]
assert names == ["city_idx", "city_ngram", "id_idx"], names
table = lance.dataset(uri)
for text in filters: print(sorted(table.to_table(filter=text)["id"].to_pylist()))
"""

READ = """
import sys
import lance_core as lance
uri, *filters = sys.argv[1:]
table = lance.dataset(uri)
assert "@id_idx(BTree)" in table.scanner(filter="id = 7").explain_plan()
for text in filters:
    found = sorted(table.to_table(filter=text)["id"].to_pylist())
    assert found == sorted(table.to_table(filter=text, use_scalar_index=False)["id"].to_pylist())
    print(found)
table.optimize.optimize_indices()
table.optimize.compact_files()
assert table.count_rows("id >= 0") == table.count_rows()
from lance_core.plugins import get_manager
print(get_manager().encodings.kernels.fsst_decode.__module__)
"""


def test_the_core_alone_changes_a_table_with_indices_which_then_answer_right_with_the_plugin(
    installed: Environment, core: Environment
) -> None:
    installed.python(WRITE)
    uri = str(installed.folder / "t.lance")
    told = core.python(USE, uri, *FILTERS)
    assert told.splitlines() == ["[7, 7]", "[4, 21, 30, 39, 48]", "[7, 5000]"]
    assert installed.python(READ, uri, *FILTERS).startswith(told)


def test_the_extra_all_brings_indices_kernels_and_engines(
    installed: Environment, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = linked(installed, "lance-core[all]", tmp_path_factory.mktemp("all"))
    made.python(WRITE)
    told = made.python(READ, str(made.folder / "t.lance"), *FILTERS).splitlines()
    assert told == ["[7]", "[3, 12, 21, 30, 39, 48]", "[]", "lance_core_kernels.strings"]
    made.python("import datafusion, tqdm")
