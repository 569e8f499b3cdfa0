"""One-line changes of the functions of a module, as syntax trees."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_PASSED_OVER = frozenset({"__repr__", "__str__", "__reduce__"})
"""Functions whose results are only texts, or pickles."""


@dataclass(frozen=True)
class Mutant:
    """A change of one node of a function.

    ``function``: qualified name of the outermost function. ``line``: of the change. ``key`` names
    the mutant; it stays the same as long as the function does.
    """

    path: Path
    function: str
    line: int
    before: str
    after: str
    number: int
    _source: tuple[ast.Module, ast.AST | None, ast.AST | None] = field(compare=False, repr=False)

    @property
    def key(self) -> str:
        """The module, the function and the change; a number where a change is possible again."""
        again = f" #{self.number}" if self.number else ""
        return f"{module_at(self.path)}:{self.function}: {self.change}{again}"

    @property
    def change(self) -> str:
        """What the change does to the source."""
        return f"{self.before} -> {self.after}"

    def tree(self) -> ast.Module:
        """The module with the change."""
        module, node, replacement = self._source
        if node is None or replacement is None:
            return module
        made = _Replacing(node, replacement).visit(module)
        assert isinstance(made, ast.Module)
        return ast.fix_missing_locations(made)


@cache
def module_at(path: Path) -> str:
    """The name of the module at ``path``, in the core or in the folder of a plugin."""
    parts = path.with_suffix("").parts
    return ".".join(parts[2:] if parts[0] == "plugins" else parts)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every mutant of the functions of the module at ``path``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name, function in _functions(tree, ""):
        seen: Counter[tuple[str, str]] = Counter()
        for node, replacement in _changes(function):
            before, after = _text(node), _text(replacement)
            number = seen[before, after]
            seen[before, after] += 1
            line = getattr(node, "lineno", 0)
            yield Mutant(path, name, line, before, after, number, (tree, node, replacement))


def edited(path: Path, before: str, after: str) -> Mutant:
    """The mutant whose source has ``after`` in place of ``before``, which is there once."""
    source = path.read_text(encoding="utf-8")
    start, found, rest = source.partition(before)
    if not found or before in rest:
        raise ValueError(f"{path} has {before!r} not exactly once")
    tree, line = ast.parse(start + after + rest), start.count("\n") + 1
    for name, function in _functions(tree, ""):
        if function.lineno <= line <= (function.end_lineno or 0):
            return Mutant(path, name, line, before, after, 0, (tree, None, None))
    raise ValueError(f"{path}:{line} is in no function")


def _functions(parent: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The outermost functions, with their qualified names."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef) and node.name not in _PASSED_OVER:
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


def _changes(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Nodes of the body with what may take their places."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        # What a text says, and which error is raised with it, is not at issue here.
        if isinstance(node, ast.Raise):
            yield node, ast.Pass()
            continue
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.AnnAssign):
            waiting += [node.value] if isinstance(node, ast.AnnAssign) and node.value else []
            continue
        yield from ((node, other) for other in _others(node))
        waiting += reversed(list(ast.iter_child_nodes(node)))


def _others(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.stmt):
        yield from _other_statements(node)
    elif isinstance(node, ast.expr):
        yield from _other_expressions(node)


def _other_statements(node: ast.stmt) -> Iterator[ast.AST]:
    if (
        isinstance(node, ast.AugAssign)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        or isinstance(node, ast.Continue | ast.Break)
    ):
        yield ast.Pass()
    elif isinstance(node, ast.If | ast.While):
        yield _with(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Return) and _is_truth(node.value):
        yield ast.Return(ast.Constant(True))
        yield ast.Return(ast.Constant(False))
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple | ast.List):
        yield ast.Return(_with(node.value, "elts", node.value.elts[:-1]))


def _other_expressions(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            yield _with(node, "ops", [_COMPARISONS[type(operator)]()])
        case ast.BoolOp(op=operator, values=values):
            yield _with(node, "op", ast.Or() if isinstance(operator, ast.And) else ast.And())
            yield values[0] if len(values) == 2 else _with(node, "values", values[:-1])
            yield values[1] if len(values) == 2 else _with(node, "values", values[1:])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC and not _is_text(node):
            yield _with(node, "op", _ARITHMETIC[type(operator)]())
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Call(args=[*arguments]) if not _starred(node) and not _is_commutative(node):
            for at in range(len(arguments) - 1):
                if _are_texts(arguments[at : at + 2]):
                    continue
                swapped = [*arguments[:at], arguments[at + 1], arguments[at], *arguments[at + 2 :]]
                yield _with(node, "args", swapped)
        case ast.IfExp(test=test):
            yield _with(node, "test", ast.UnaryOp(ast.Not(), test))


def _is_truth(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Compare | ast.BoolOp) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    )


def _is_text(node: ast.BinOp) -> bool:
    """Whether texts are joined."""
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def _is_commutative(node: ast.Call) -> bool:
    return ast.unparse(node.func).rpartition(".")[2] in {"max", "min", "union", "intersection"}


def _are_texts(nodes: list[ast.expr]) -> bool:
    return all(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in nodes)


def _starred(node: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in node.args)


def _with(node: ast.AST, name: str, value: object) -> ast.AST:
    """A copy of ``node`` with another value of one field."""
    made = copy.copy(node)
    setattr(made, name, value)
    return made


def _text(node: ast.AST) -> str:
    """The first line of the node's source, which tells it from others of the function."""
    try:
        text = ast.unparse(node)
    except AttributeError:  # a statement that was made has no place in a source yet
        text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node)))
    return text.partition("\n")[0]


class _Replacing(ast.NodeTransformer):
    def __init__(self, node: ast.AST, replacement: ast.AST) -> None:
        self._node, self._replacement = node, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._node:
            return ast.copy_location(copy.copy(self._replacement), node)
        return _shallow(node, self)


def _shallow(node: ast.AST, transformer: _Replacing) -> ast.AST:
    """A copy of ``node`` with its children visited; the tree itself stays as it is."""
    made = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(
                made,
                name,
                [transformer.visit(one) if isinstance(one, ast.AST) else one for one in value],
            )
        elif isinstance(value, ast.AST):
            setattr(made, name, transformer.visit(value))
    return made
