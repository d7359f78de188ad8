"""Our numbers against references, silicon and slower programs of our own."""
