"""Precision: quantisation, execution of a trained network in numpy, sensitivity scores and selection."""
