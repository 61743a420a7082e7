"""A running stack under a real Prometheus, so that queries are tried on what is really there."""
