"""Nodes of operators: logic, comparisons, IN, LIKE, SIMILAR TO, arithmetic, bits."""
