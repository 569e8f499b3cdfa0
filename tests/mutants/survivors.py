"""Mutants that survive because they change nothing that can be observed."""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {}
"""By key, the reason."""
