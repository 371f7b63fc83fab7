"""From logs to what is wrong: pure, streaming, the standard library only."""
