"""The HTTP server: the protocol of text-embeddings-inference, and routes beside it."""
