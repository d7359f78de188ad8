"""Architectures: what a person writes (`config`) and what the code reasons with (`hardware`)."""
