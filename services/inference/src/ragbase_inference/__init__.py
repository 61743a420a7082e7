"""Text embeddings on ONNX Runtime, without torch."""

__version__ = "0.1.0"
