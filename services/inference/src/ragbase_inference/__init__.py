"""Text embeddings on ONNX Runtime, without torch."""

import os

__version__ = "0.1.0"

# ONNX Runtime notes a device id and sends usage figures from the moment it is imported. Nothing
# leaves a user's machine that they did not ask for; whoever wants it says ORT_DISABLE_TELEMETRY=0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
