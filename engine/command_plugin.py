"""A stand-in for the vendor's `command` plugin, used only where that cannot be had."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

if __package__ in (None, ""):  # started as a file by the engine
    gc.disable()  # until it serves: a tenth of the start, and nothing made there ever goes
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from engine.command.provider import CommandProvider, provider_grpc
from engine.serve import serve


def main() -> None:
    """Serve the engine whose address is the last argument."""
    given = CommandProvider(sys.argv[-1] if len(sys.argv) > 1 else "")
    serve(
        lambda server: provider_grpc.add_ResourceProviderServicer_to_server(given, server),
        lambda: given.engine_address,
        given.cancel,
    )


if __name__ == "__main__":
    main()
