"""Tables as data sets of PyTorch, by the names of pylance's ``lance.torch.data``.

All come with the extra ``torch``; without it, their use raises `PluginNotFoundError`.
"""

from typing import Any

from lance_core.imports.provided_names import provided

__all__ = ["LanceDataset", "SafeLanceDataset", "TensorDataset", "get_safe_loader"]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    return provided(__name__, *__all__)(name)
