"""The use cases of the second API."""
