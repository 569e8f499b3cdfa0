"""What an SQL function is written with.

A function plans: from the nodes of its arguments it makes the node of its result, usually by `call`
with a kernel, which gets an Arrow array or scalar for each argument. `SqlFunctionSpec` of
`lance_core.hookspecs` describes a function to the library.

- **Nodes**: `Node` is a `ColumnNode`, a `Constant` or a `CallNode`. `call` makes one, and `Apply`
  names what it means; the other operators are those that indices and statistics know.
- **Arguments**: `text_argument`, `literal_argument`, `as_number`, … check and convert them;
  `converted` converts implicitly, as operators do, and `cast` explicitly.
- **Kernels**: `by_chunk` for those that take arrays only. One whose result may be much larger than
  its arguments calls `check_added` before it allocates memory.
- **Modules** of operators (`compare`, `logic`, …) and of values (`decimals`, `intervals`, …), for
  functions that are made of these.
"""

from lance_core.concurrency.pools import run_interruptibly
from lance_core.dataset.expressions import datafusion
from lance_core.dataset.expressions.sql.nodes.chunks import by_chunk, each_chunk
from lance_core.dataset.expressions.sql.nodes.evaluate import evaluate
from lance_core.dataset.expressions.sql.nodes.node import (
    JSON_POSITION,
    Apply,
    CallNode,
    ColumnNode,
    Constant,
    Datum,
    HasItem,
    HasPrefix,
    HasSubstring,
    HasSuffix,
    JsonField,
    Kernel,
    Node,
    call,
    constant,
    null,
    with_condition,
    with_metadata,
    with_nullable,
)
from lance_core.dataset.expressions.sql.nodes.size_limit import (
    check_added,
    is_variable,
    scalar_bytes,
    text_bytes,
)
from lance_core.dataset.expressions.sql.operators import (
    arithmetic,
    bits,
    compare,
    conditional,
    like,
    logic,
    regexp,
    regexp_syntax,
)
from lance_core.dataset.expressions.sql.operators.concatenation import as_texts, join_texts
from lance_core.dataset.expressions.sql.operators.conditional import coalesce
from lance_core.dataset.expressions.sql.operators.distinct_options import call_for_distinct
from lance_core.dataset.expressions.sql.operators.lists import element as list_element
from lance_core.dataset.expressions.sql.operators.lists import is_list
from lance_core.dataset.expressions.sql.operators.structs import field as struct_field
from lance_core.dataset.expressions.sql.values import decimals, intervals, literals, wide_integers
from lance_core.dataset.expressions.sql.values.arguments import literal_argument, text_argument
from lance_core.dataset.expressions.sql.values.casts import cast
from lance_core.dataset.expressions.sql.values.coerce import (
    as_float,
    as_local,
    as_number,
    common_type,
    converted,
    is_bytes,
    is_number,
    is_text,
    literals_beside_floats,
)
from lance_core.dataset.expressions.sql.values.conversions import caster
from lance_core.dataset.expressions.sql.values.value_text import check_years
from lance_core.encodings.arrow.combine_chunks import combine_chunks

__all__ = [
    "JSON_POSITION",
    "Apply",
    "CallNode",
    "ColumnNode",
    "Constant",
    "Datum",
    "HasItem",
    "HasPrefix",
    "HasSubstring",
    "HasSuffix",
    "JsonField",
    "Kernel",
    "Node",
    "arithmetic",
    "as_float",
    "as_local",
    "as_number",
    "as_texts",
    "bits",
    "by_chunk",
    "call",
    "call_for_distinct",
    "cast",
    "caster",
    "check_added",
    "check_years",
    "coalesce",
    "combine_chunks",
    "common_type",
    "compare",
    "conditional",
    "constant",
    "converted",
    "datafusion",
    "decimals",
    "each_chunk",
    "evaluate",
    "intervals",
    "is_bytes",
    "is_list",
    "is_number",
    "is_text",
    "is_variable",
    "join_texts",
    "like",
    "list_element",
    "literal_argument",
    "literals",
    "literals_beside_floats",
    "logic",
    "null",
    "regexp",
    "regexp_syntax",
    "run_interruptibly",
    "scalar_bytes",
    "struct_field",
    "text_argument",
    "text_bytes",
    "wide_integers",
    "with_condition",
    "with_metadata",
    "with_nullable",
]
