"""The counting rules of other tools, as switches: for comparison only, with mappings of whole trips."""
