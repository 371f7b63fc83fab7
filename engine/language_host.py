"""A stand-in for the vendor's Python language host, used only where that cannot be had."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

if __package__ in (None, ""):  # started as a file by the engine
    gc.disable()  # until it serves: a tenth of the start, and nothing made there ever goes
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from engine.language.host import PythonHost, language_grpc
from engine.serve import serve


def main() -> None:
    """Serve the engine whose address is the last argument."""
    host = PythonHost(sys.argv[-1] if len(sys.argv) > 1 else "")
    serve(
        lambda server: language_grpc.add_LanguageRuntimeServicer_to_server(host, server),
        lambda: host.engine_address,
        host.end_programs,
    )


if __name__ == "__main__":
    main()
