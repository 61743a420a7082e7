"""What can go wrong with a model, and who must act.

InferenceError
├── ModelUnavailableError   a person: the model cannot be had or is of a kind we cannot run
│   └── NotInstalledError   the libraries that run it are not installed
├── TextTooLongError        the caller: the text has more tokens than the model reads
├── QueueFullError          wait: more is queued than this process can answer in time
├── ClosedError             nobody: the model was closed while work was waiting
└── ModelFailedError        a bug: the model did not answer on an input
    ├── OutOfMemoryError    a smaller batch may do
    └── NotFiniteError      the model answered with NaN or infinities
"""

from __future__ import annotations

__all__ = [
    "ClosedError",
    "InferenceError",
    "ModelFailedError",
    "ModelUnavailableError",
    "NotFiniteError",
    "NotInstalledError",
    "OutOfMemoryError",
    "QueueFullError",
    "TextTooLongError",
]


class InferenceError(Exception):
    """Base of all errors raised on purpose by this package."""


class ModelUnavailableError(InferenceError):
    """The model cannot be loaded; the message says why and what to do."""


class NotInstalledError(ModelUnavailableError):
    """The model needs an extra of this package; the message names it."""


class TextTooLongError(InferenceError):
    """Text number ``index`` of a call has ``tokens`` tokens where ``limit`` are allowed."""

    def __init__(self, index: int, tokens: int, limit: int) -> None:
        super().__init__(f"text {index} has {tokens} tokens, the model reads {limit}")
        self.index = index
        self.tokens = tokens
        self.limit = limit


class QueueFullError(InferenceError):
    """Too much is waiting already."""


class ClosedError(InferenceError):
    """The model has been closed."""


class ModelFailedError(InferenceError):
    """The runtime failed on an input, or answered with something of another shape."""


class OutOfMemoryError(ModelFailedError):
    """The device has too little memory for this batch."""


class NotFiniteError(ModelFailedError):
    """What the model gave for an input holds NaN or infinities."""
