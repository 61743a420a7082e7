"""Images that stand in, on a machine without a registry, for those that others publish."""
