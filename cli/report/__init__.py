"""`./burnin report`: what a verification found, as a page for people and as files for programs."""
