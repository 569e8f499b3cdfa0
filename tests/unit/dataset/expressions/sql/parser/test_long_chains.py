"""Long chains of AND and OR select the rows that their operands, one by one, select."""

from __future__ import annotations

import random
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.expression import filter_expression
from lance_core.dataset.expressions.sql.parser.grammar import parse
from lance_core.dataset.expressions.sql.parser.long_chains import shortened
from lance_core.dataset.expressions.sql.parser.syntax import Logic
from tests.each_case import each_case

NAN = float("nan")
DATA = pa.table(
    {
        "n": pa.array([-5, 0, 3, 7, None, 12, 2**53 + 1], pa.int64()),
        "f": pa.array([NAN, -0.0, 0.1, 7.5, None, -float("inf"), 1e300], pa.float64()),
        "h": pa.array([0.1, 0.0, 3, 7.5, None, -NAN, 2.5], pa.float32()),
        "d": pa.array([0, 1, 2, 3, None, 5, 6], pa.decimal128(10, 2)),
    }
)
NUMBERS = ("-5", "0", "-0.0", "0.1", "0.10", "3", "2.999999999999999999999", "7.5", "1e3", "300")
SUBJECTS = ("n", "f", "h", "d", "n + 1", "`n`", "1 - f", "abs(n)")


def operand(random: random.Random) -> str:
    subject, number = random.choice(SUBJECTS), random.choice(NUMBERS)
    match random.randrange(6):
        case 0:
            negated = random.choice(["", "NOT "])
            return f"{subject} {negated}BETWEEN {number} AND {random.choice(NUMBERS)}"
        case 1:
            return f"{number} >= {subject}"
        case _:
            return f"{subject} {random.choice(['<', '<=', '>', '>=', '=', '<>'])} {number}"


def values(text: str) -> pa.Array:
    return filter_expression(text, DATA.schema).evaluate(DATA).combine_chunks()


@each_case("seed", range(6))
@each_case("joined", ["AND", "OR"])
def test_a_long_chain_is_the_chain_of_its_operands(joined: str, seed: int) -> None:
    generator = random.Random(seed)
    operands = [operand(generator) for _ in range(generator.choice([20, 40]))]
    if seed % 2:  # bounds of one direction, so that some rows remain undecided until the last
        sign = generator.choice(["<", "<=", ">", ">="])
        operands = [f"{generator.choice('nfh')} {sign} {number}" for number in NUMBERS * 3]
    kernel = pc.and_kleene if joined == "AND" else pc.or_kleene
    expected = reduce(kernel, map(values, operands))
    assert values(f" {joined} ".join(operands)).equals(expected)


@each_case("joined", ["AND", "OR"])
def test_one_bound_of_each_operator_remains(joined: str) -> None:
    bounds = [f"n {sign} {bound}" for sign in ("<", "<=", ">", ">=") for bound in range(50)]
    tree = parse(f" {joined} ".join([*bounds, "n + 1 < 3", "n + 1 < 2.5"]))
    assert isinstance(tree, Logic)
    assert len(shortened(tree)) == 5
