"""The process group: joined once, left in order, and the only place where ranks talk."""

from __future__ import annotations

import datetime
import json
from typing import Any

_JOIN_S = 120
_WORDS_BYTES = 1024


class Group:
    """Collectives over all ranks; the seam at which the fault tests break them."""

    def __init__(self, torch: Any, backend: str, init_method: str, rank: int, ranks: int) -> None:
        import torch.distributed as dist

        self._torch, self._dist, self._ranks = torch, dist, ranks
        waiting = datetime.timedelta(seconds=_JOIN_S)
        dist.init_process_group(backend, init_method=init_method, rank=rank, world_size=ranks, timeout=waiting)

    def barrier(self) -> None:
        """Until every rank is here."""
        self._dist.barrier()

    def all_reduce(self, tensor: Any) -> None:
        """Sum in place."""
        self._dist.all_reduce(tensor)

    def all_gather(self, output: Any, given: Any) -> None:
        """Gather every rank's block into `output`, in the order of ranks."""
        self._dist.all_gather_into_tensor(output, given)

    def reduce_scatter(self, output: Any, given: Any) -> None:
        """Sum `given` over all ranks and keep this rank's block."""
        self._dist.reduce_scatter_tensor(output, given)

    def gather_words(self, mine: Any, where: Any) -> list[Any]:
        """Return what every rank says: JSON of at most 1 KiB each. (torch's own way needs numpy, which nobody promised.)"""
        text = json.dumps(mine).encode().ljust(_WORDS_BYTES)
        given = self._torch.tensor(list(text), dtype=self._torch.uint8, device=where)
        heard = self._torch.zeros(_WORDS_BYTES * self._ranks, dtype=self._torch.uint8, device=where)
        self._dist.all_gather_into_tensor(heard, given)
        said = bytes(heard.tolist())
        return [json.loads(said[i : i + _WORDS_BYTES]) for i in range(0, len(said), _WORDS_BYTES)]

    def data_parallel(self, model: Any, device: Any) -> Any:
        """Wrap a model for data-parallel training."""
        from torch.nn.parallel import DistributedDataParallel

        return DistributedDataParallel(model, device_ids=None if device.where.type == "cpu" else [device.where.index])

    def leave(self) -> None:
        """Leave in order."""
        self._dist.destroy_process_group()
