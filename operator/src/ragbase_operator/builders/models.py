"""All model servers of a RagBase."""

from __future__ import annotations

from collections.abc import Iterator

from ragbase_operator.builders.components import EMBEDDING
from ragbase_operator.builders.inference import embedding_server, ner_server, reranker_server
from ragbase_operator.builders.inputs import Images, Inputs
from ragbase_operator.builders.model_servers import ModelServer, model_server
from ragbase_operator.builders.rerankers import reranker_groups
from ragbase_operator.builders.settings import asks_gliner
from ragbase_operator.builders.tei import tei_server
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["model_components", "model_servers"]


def model_servers(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """Embedding server, rerankers and entity recogniser, as far as they are run here."""
    return [
        manifest
        for server in _servers(ragbase, inputs.images)
        for manifest in model_server(ragbase, server, inputs)
    ]


def model_components(ragbase: RagBase, inputs: Inputs) -> list[str]:
    """Their components."""
    return [server.component for server in _servers(ragbase, inputs.images)]


def _servers(ragbase: RagBase, images: Images) -> Iterator[ModelServer]:
    embeddings = ragbase.spec.embeddings
    if embeddings.external is None:
        if embeddings.engine == "tei":
            yield tei_server(EMBEDDING, embeddings, images)
        else:
            yield embedding_server(embeddings, images)
    for group in reranker_groups(ragbase):
        if group.leader.engine == "tei":
            yield tei_server(group.component, group.leader, images)
        else:
            yield reranker_server(group, images)
    if asks_gliner(ragbase):
        yield ner_server(ragbase.spec.graph.ner, images)
