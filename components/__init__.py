"""The Pulumi side of Burnin: config in, resources out."""
