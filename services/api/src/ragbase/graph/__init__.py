"""The entity graph as searches read it: names in a query, their neighbourhood, a walk over it."""
