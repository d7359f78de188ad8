"""The parts of `scripts/bench.py`: each section returns tables of what it measured."""
