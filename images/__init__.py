"""Builds the product's container images: ``python3 -m images --help``. Standard library alone."""
