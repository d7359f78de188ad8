"""Architectures: what a person writes (`config`), what the code reasons with (`hardware`), and between them."""
