"""The search for the best mapping of one layer."""
