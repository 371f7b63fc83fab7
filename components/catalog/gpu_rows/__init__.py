"""The GPU models by generation: facts only. PCI numbers and names are those of the vendor's list of supported devices."""
