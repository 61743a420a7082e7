"""From a RagBase to manifests: pure functions, without I/O, clock or randomness."""
