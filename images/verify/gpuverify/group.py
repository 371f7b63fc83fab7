"""The process group: joined once, left in order, and the only place where ranks talk."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from typing import Any

from gpuverify.progress import Progress

_WORDS_BYTES = 1024


class Group:
    """Collectives over all ranks; the seam at which the fault tests break them."""

    def __init__(self, torch: Any, backend: str, progress: Progress, rendezvous: dict[str, Any]) -> None:
        import torch.distributed as dist

        self._torch, self._dist, self._progress = torch, dist, progress
        self._ranks = rendezvous["world_size"]
        waiting = datetime.timedelta(seconds=rendezvous.pop("timeout_s"))
        dist.init_process_group(backend, timeout=waiting, **rendezvous)

    def barrier(self) -> None:
        """Until every rank is here."""
        self._counted(self._dist.barrier)

    def all_reduce(self, tensor: Any) -> None:
        """Sum in place."""
        self._counted(self._dist.all_reduce, tensor)

    def all_gather(self, output: Any, given: Any) -> None:
        """Gather every rank's block into `output`, in the order of ranks."""
        self._counted(self._dist.all_gather_into_tensor, output, given)

    def reduce_scatter(self, output: Any, given: Any) -> None:
        """Sum `given` over all ranks and keep this rank's block."""
        self._counted(self._dist.reduce_scatter_tensor, output, given)

    def gather_words(self, mine: Any, where: Any) -> list[Any]:
        """Return what every rank says, None for what is not understood; JSON of at most 1 KiB each.

        torch's own way needs numpy, which nobody promised.
        """
        text = json.dumps(mine).encode().ljust(_WORDS_BYTES)
        given = self._torch.tensor(list(text), dtype=self._torch.uint8, device=where)
        heard = self._torch.zeros(_WORDS_BYTES * self._ranks, dtype=self._torch.uint8, device=where)
        self.all_gather(heard, given)
        said = bytes(heard.tolist())
        return [_understood(said[i : i + _WORDS_BYTES]) for i in range(0, len(said), _WORDS_BYTES)]

    def data_parallel(self, model: Any, device: Any) -> Any:
        """Wrap a model for data-parallel training, in several buckets, as a real one has."""
        from torch.nn.parallel import DistributedDataParallel

        ids = None if device.where.index is None else [device.where.index]
        return DistributedDataParallel(model, device_ids=ids, bucket_cap_mb=1)

    def leave(self) -> None:
        """Leave in order."""
        self._dist.destroy_process_group()

    def _counted(self, operation: Callable[..., Any], *tensors: Any) -> None:
        self._progress.entered()
        operation(*tensors)
        self._progress.left()


def _understood(said: bytes) -> Any:
    try:
        return json.loads(said)
    except ValueError:
        return None
