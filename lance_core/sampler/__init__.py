"""Samplers: which rows each process of a training reads, by the names of pylance's module.

All come with the extra ``torch``; without it, their use raises `PluginNotFoundError`.
"""

from typing import Any

from lance_core.imports.provided_names import provided

__all__ = [
    "FragmentSampler",
    "FullScanSampler",
    "Sampler",
    "ShardedBatchSampler",
    "ShardedFixedBatchSampler",
    "ShardedFragmentSampler",
    "maybe_sample",
    "reservoir_sampling",
]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    return provided(__name__, *__all__)(name)
