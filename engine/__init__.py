"""How the Pulumi engine gets onto a machine, and stand-ins for the two parts that no package registry has."""
