"""The modules of `snorkel.labeling.apply`."""
