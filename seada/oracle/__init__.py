"""The slow, obvious interpreter of `docs/model.md`: explicit sets, step by step, instance by instance."""
