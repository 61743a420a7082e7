"""A model's own tokeniser from its files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from ragbase.clients.local_tokens import LocalTokenizer, token_limit, tokenizer_folder

VOCABULARY = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "héllo": 3, "world": 4}


def _write(folder: Path, **configs: object) -> Path:
    folder.mkdir(parents=True)
    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    made.enable_truncation(4)
    made.enable_padding(length=8)
    made.save(str(folder / "tokenizer.json"))
    for name, content in configs.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def test_nothing_is_cut_padded_or_added(tmp_path: Path) -> None:
    tokenizer = LocalTokenizer(_write(tmp_path / "m"))
    text = "😀 héllo world héllo world héllo"
    assert tokenizer.special_tokens == 2
    assert [text[a:b] for a, b in tokenizer.spans(text)] == text.split()
    assert tokenizer.count([text, ""]) == [6, 0]
    assert tokenizer.spans("").shape == (0, 2)


def test_long_texts_keep_their_places(tmp_path: Path) -> None:
    tokenizer = LocalTokenizer(_write(tmp_path / "m"))
    text = "héllo world " * 5000
    spans = tokenizer.spans(text)
    assert tokenizer.count([text]) == [len(spans)] == [10_000]
    assert np.all(spans[1:, 0] == spans[:-1, 1] + 1)


def test_the_folder_itself_or_the_hubs_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    model = tmp_path / "hub" / "models--acme--words"
    old = _write(model / "snapshots" / "aaaa")
    new = _write(model / "snapshots" / "bbbb")
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("bbbb\n")
    assert tokenizer_folder("acme/words") == new
    assert tokenizer_folder(str(old)) == old
    assert tokenizer_folder("acme/none") is None
    assert tokenizer_folder("../../escape") is None


@pytest.mark.parametrize(
    ("configs", "limit"),
    [
        ({"sentence_bert_config": {"max_seq_length": 256}, "tokenizer_config": {"model_max_length": 512}}, 256),
        ({"sentence_bert_config": {"max_seq_length": None}, "tokenizer_config": {"model_max_length": 512}}, 512),
        ({"tokenizer_config": {"model_max_length": 1e30}}, None),
        ({"tokenizer_config": ["odd"]}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_the_limit_is_the_first_that_is_stated(
    tmp_path: Path, configs: dict[str, object], limit: int | None
) -> None:
    assert token_limit(_write(tmp_path / "m", **configs)) == limit
