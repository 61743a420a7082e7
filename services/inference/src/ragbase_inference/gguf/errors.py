"""What can go wrong with models in GGUF files, and who must act.

ModelUnavailableError
├── UnknownModelError     the caller: no such name and kind in the listing
├── WrongKindOfFileError  the caller: the file holds a model of another kind than its use
├── UnusableFileError     a person: no GGUF file, cut short, or one that llama.cpp cannot run
└── TooMuchMemoryError    a person: it needs more than all models together may take
NotLoadedError            the caller: nothing of that name to unload
ReplacedFileError         the caller, again: the file that it began with has made way for another
ServedElsewhereError      the caller: a server of its own runs it, which is not ours to end
QueueFullError
└── NoRoomError           wait: models at work take all memory
"""

from __future__ import annotations

from ragbase_inference.errors import InferenceError, ModelUnavailableError, QueueFullError

__all__ = [
    "NoRoomError",
    "NotLoadedError",
    "ReplacedFileError",
    "ServedElsewhereError",
    "TooMuchMemoryError",
    "UnknownModelError",
    "UnusableFileError",
    "WrongKindOfFileError",
]


class UnknownModelError(ModelUnavailableError):
    """No file and no server has this name and kind."""


class WrongKindOfFileError(ModelUnavailableError):
    """The file is sound, but of a model for something else."""


class UnusableFileError(ModelUnavailableError):
    """What is in the file cannot be loaded, by whomever."""


class TooMuchMemoryError(ModelUnavailableError):
    """The model does not fit the bound, even alone."""


class NotLoadedError(InferenceError):
    """There is nothing to unload."""


class ReplacedFileError(InferenceError):
    """The version that was asked for is neither in its place nor in memory any more."""


class ServedElsewhereError(InferenceError):
    """The model is in the memory of a server that is not ours."""


class NoRoomError(QueueFullError):
    """Models that are being used take all memory; later there may be room."""
