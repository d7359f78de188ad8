"""Whole networks: layers, vector operators and conversions in sequence, with their totals."""
