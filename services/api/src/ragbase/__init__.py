"""RagBase: hybrid retrieval over Postgres, as a REST API, a worker, a CLI and a library."""

__version__ = "0.1.0"
