"""What `./burnin` runs beside the engine."""
