"""Which way the bytes took: from NCCL's own log and from the ports' counters, never from the environment that was set."""
