"""Adapters to Kopf: they wake a reconcile, and decide nothing."""
