"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from importlib.machinery import PathFinder

from lance_core.hookspecs import ToolSpec, hookimpl

_SAMPLERS = {
    "batch_samplers": ("ShardedBatchSampler", "ShardedFixedBatchSampler"),
    "samplers": ("FragmentSampler", "FullScanSampler", "Sampler", "ShardedFragmentSampler"),
    "sampling": ("maybe_sample", "reservoir_sampling"),
}

_DATA_SETS = {
    "iterable": ("LanceDataset",),
    "map_style": ("SafeLanceDataset", "TensorDataset", "get_safe_loader"),
}
"""Subclasses of PyTorch's: where it is not installed, there are only samplers."""


@hookimpl
def lance_tools() -> list[ToolSpec]:
    """Data sets of PyTorch, and samplers."""
    modules = {**_SAMPLERS, **(_DATA_SETS if PathFinder.find_spec("torch") else {})}
    return [
        ToolSpec(f"lance_core_torch.{module}:{name}")
        for module, names in modules.items()
        for name in names
    ]
