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

    def __init__(self, torch: Any, backend: str, where: Any, progress: Progress, rendezvous: dict[str, Any]) -> None:
        import torch.distributed as dist

        self._torch, self._dist, self._progress = torch, dist, progress
        self._ranks, self._rank = rendezvous["world_size"], rendezvous["rank"]
        waiting = datetime.timedelta(seconds=rendezvous.pop("timeout_s"))
        dist.init_process_group(backend, timeout=waiting, **rendezvous)
        self._one = torch.zeros(1, device=where)

    def barrier(self) -> None:
        """Until every rank is here."""
        self._counted(self._dist.barrier)

    def align(self) -> None:
        """Bring the ranks together for what is timed next: by a sum of one element, which leaves them closer than a barrier."""
        self._counted(self._dist.all_reduce, self._one)

    def all_reduce(self, tensor: Any) -> None:
        """Sum in place."""
        self._counted(self._dist.all_reduce, tensor)

    def all_gather(self, output: Any, given: Any) -> None:
        """Gather every rank's block into `output`, in the order of ranks."""
        self._counted(self._dist.all_gather_into_tensor, output, given)

    def reduce_scatter(self, output: Any, given: Any) -> None:
        """Sum `given` over all ranks and keep this rank's block."""
        self._counted(self._dist.reduce_scatter_tensor, output, given)

    def all_to_all(self, output: Any, given: Any) -> None:
        """Send block d of `given` to rank d, and gather what each rank sent here."""
        self._counted(self._dist.all_to_all_single, output, given)

    def broadcast(self, tensor: Any, turn: int) -> None:
        """Give everybody what rank `turn` modulo the number of ranks has."""
        self._counted(self._dist.broadcast, tensor, turn % self._ranks)

    def shift(self, output: Any, given: Any) -> None:
        """Send to the next rank and receive from the one before, around the ring."""
        self.exchange(output, given, (self._rank + 1) % self._ranks, (self._rank - 1) % self._ranks)

    def exchange(self, output: Any, given: Any, to: int, of: int) -> None:
        """Send to one rank and receive of one, both at once."""
        ways = [self._dist.P2POp(self._dist.isend, given, to), self._dist.P2POp(self._dist.irecv, output, of)]

        def both() -> None:
            for way in self._dist.batch_isend_irecv(ways):
                way.wait()

        self._counted(both)

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

    def fully_sharded(self, model: Any, device: Any) -> Any:
        """Shard a model's weights over all ranks, layer by layer, as a real training does with this torch."""
        from torch.distributed import fsdp
        from torch.distributed.device_mesh import init_device_mesh

        if not hasattr(fsdp, "fully_shard"):
            return _wrapped(model, device)
        mesh = init_device_mesh(device.where.type, (self._ranks,))
        for layer in [*model.children(), model]:
            if any(True for _ in layer.parameters()):
                fsdp.fully_shard(layer, mesh=mesh)
        return model

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


def _wrapped(model: Any, device: Any) -> Any:
    """What trainings used before torch 2.6, and what shards on a CPU there: the class around each layer and the whole."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    for name, layer in model.named_children():
        if any(True for _ in layer.parameters()):
            setattr(model, name, FullyShardedDataParallel(layer, device_id=device.where, use_orig_params=True))
    return FullyShardedDataParallel(model, device_id=device.where, use_orig_params=True)
