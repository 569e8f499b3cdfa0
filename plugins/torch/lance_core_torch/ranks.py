"""The share of this process among all that read a table together."""

from __future__ import annotations

import torch.distributed
import torch.utils.data


def rank_and_world_size() -> tuple[int, int]:
    """The number of this process, from 0, and the number of processes that read.

    Each process of `torch.distributed` has the workers of its `torch.utils.data.DataLoader`, and
    each of them is counted. A process without either is 0 of 1.
    """
    rank, world_size = 0, 1
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    worker = torch.utils.data.get_worker_info()
    if worker is None:
        return rank, world_size
    return rank * worker.num_workers + worker.id, world_size * worker.num_workers
