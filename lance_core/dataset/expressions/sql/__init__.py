"""SQL expressions: `parser` reads text, `plan` makes nodes of the tree, `nodes.evaluate` computes.

`values` has types and literals, `operators` and `functions` plan the calls of an expression.
"""
