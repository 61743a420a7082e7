"""Scenarios on a real cluster, driven by the official Kubernetes client: ``make e2e``."""
