"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from lance_core.hookspecs import ToolSpec, hookimpl

_NAMES = {
    "batch_samplers": ("ShardedBatchSampler", "ShardedFixedBatchSampler"),
    "iterable": ("LanceDataset",),
    "map_style": ("SafeLanceDataset", "TensorDataset", "get_safe_loader"),
    "samplers": ("FragmentSampler", "FullScanSampler", "Sampler", "ShardedFragmentSampler"),
    "sampling": ("maybe_sample", "reservoir_sampling"),
}


@hookimpl
def lance_tools() -> list[ToolSpec]:
    """Data sets of PyTorch, and samplers."""
    return [
        ToolSpec(f"lance_core_torch.{module}:{name}")
        for module, names in _NAMES.items()
        for name in names
    ]
