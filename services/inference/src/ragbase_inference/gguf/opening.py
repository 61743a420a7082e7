"""From a file to a model at work."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event

from ragbase_inference.cores import usable_cores
from ragbase_inference.errors import InferenceError
from ragbase_inference.gguf.child import ChildOptions
from ragbase_inference.gguf.client import LlamaClient
from ragbase_inference.gguf.errors import UnusableFileError, WrongKindOfFileError
from ragbase_inference.gguf.facts import GgufFacts, GgufKind, read_facts
from ragbase_inference.gguf.folder import GgufFile
from ragbase_inference.gguf.header import read_header
from ragbase_inference.gguf.model import GgufInfo, LlamaModel
from ragbase_inference.gguf.options import GgufOptions, LlamaServer
from ragbase_inference.gguf.process import LlamaProcess

__all__ = ["Plan", "answers", "connect", "open_file", "plan"]

_BESIDE_WEIGHTS = 96 * 1024 * 1024
"""Bytes of the process, its tokenizer and its buffers."""
_BUFFER_PER_NUMBER = 160
"""Bytes of a batch's buffers for each number of a token's hidden state: some forty float32 (measured:
36, of an encoder of 24 layers)."""
_CHAT_BATCH = 512
"""Tokens of a prompt that llama.cpp computes at once; an encoder's text is one batch."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a file's model will be run."""

    file: GgufFile
    facts: GgufFacts
    context: int
    parallel: int

    @property
    def need_bytes(self) -> int:
        """Memory that it will take, reckoned on the safe side."""
        cache = self.facts.cache_bytes * self.context * self.parallel
        tokens = min(self.context, _CHAT_BATCH) if self.facts.kind == "chat" else self.context
        buffers = tokens * (_BUFFER_PER_NUMBER * self.facts.width + 4 * self.context)
        return self.file.bytes + cache + buffers + _BESIDE_WEIGHTS


def plan(file: GgufFile, options: GgufOptions) -> Plan:
    """Raises `UnusableFileError`, `WrongKindOfFileError`; reads the file's head alone."""
    try:
        facts = read_facts(read_header(file.path))
    except UnusableFileError as error:
        raise UnusableFileError(f"the {file.kind} model {file.name!r}: {error}") from error
    if facts.kind != file.kind:
        raise WrongKindOfFileError(
            f"the file {file.name!r} holds no {file.kind} model but {_named(facts.kind)}"
        )
    chats = facts.kind == "chat"
    longest = options.chat_context if chats else options.text_context
    return Plan(
        file,
        facts,
        context=min(facts.context, longest),
        parallel=options.chat_parallel if chats else options.text_parallel,
    )


def _named(kind: GgufKind) -> str:
    return {"chat": "a chat model", "embedding": "an embedding model", "reranker": "a reranker"}[
        kind
    ]


def open_file(planned: Plan, options: GgufOptions, stop: Event) -> LlamaModel:
    """Load it, and try it on one text. Raises `UnusableFileError`, `NotInstalledError`.

    A load that ``stop`` overtakes ends with `ClosedError`.
    """
    file, facts = planned.file, planned.facts
    settings = ChildOptions(
        path=str(file.path.resolve()),
        kind=file.kind,
        socket="",
        context=planned.context,
        parallel=planned.parallel,
        threads=options.threads or usable_cores(),
        gpu_layers=options.gpu_layers,
    )
    try:
        process = LlamaProcess(settings, load_timeout_s=options.load_timeout_s, stop=stop)
    except UnusableFileError as error:
        raise UnusableFileError(f"the {file.kind} model {file.name!r}: {error}") from error
    client = LlamaClient(socket=process.socket, timeout_s=options.answer_timeout_s)
    info = GgufInfo(file.name, file.kind, planned.context, facts.dimension, file.version)
    model = LlamaModel(
        info,
        client,
        process=process,
        template=facts.template,
        scores_are_logits=facts.scores_are_logits,
        need_bytes=planned.need_bytes,
    )
    try:
        _try(model)
    except BaseException:
        model.close()
        raise
    return model


def answers(server: LlamaServer) -> bool:
    """Whether it is there and has its model loaded; tells within seconds."""
    client = LlamaClient(url=server.url, key=server.key, timeout_s=1.0)
    try:
        return client.answers()
    finally:
        client.close()


def connect(name: str, server: LlamaServer, options: GgufOptions) -> LlamaModel:
    """The model of a server of its own. Raises `ModelFailedError` where it does not answer."""
    client = LlamaClient(url=server.url, key=server.key, timeout_s=options.answer_timeout_s)
    try:
        width = client.embed(["a"]).shape[1] if server.kind == "embedding" else None
        info = GgufInfo(name, server.kind, client.context(), width)
    except BaseException:
        client.close()
        raise
    return LlamaModel(info, client)


def _try(model: LlamaModel) -> None:
    """Broken weights load like others; what they answer is not finite, or ends the process."""
    name, kind = model.info.name, model.info.kind
    try:
        match kind:
            case "embedding":
                found = model.embed(["a harbour"], cut=True).shape[1]
                if found != model.info.dimension:
                    raise UnusableFileError(
                        f"it gives {found} numbers a text and not {model.info.dimension}"
                    )
            case "reranker":
                model.rerank("a harbour", ["a ship"])
            case "chat":
                model.chat("a harbour", max_tokens=1, temperature=0.0)
    except InferenceError as error:
        raise UnusableFileError(f"the {kind} model {name!r} fails on a text: {error}") from error
