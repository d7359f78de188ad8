"""Mappings: the loop nest as data, as text, as YAML, and the rules that it must obey."""
