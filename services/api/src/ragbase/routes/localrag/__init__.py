"""Routes of the second API."""
