"""The head of a GGUF file is read without its weights, and never believed more than it deserves."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase_inference.gguf.errors import UnusableFileError
from ragbase_inference.gguf.header import Header, read_header

from .gguf_bytes import BERT, LLAMA, head, text, write_gguf

SOUND = head({**BERT, "a": 0.5, "b": True}, ["token_embd.weight", "cls.weight"])


def read(folder: Path, data: bytes) -> Header:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return read_header(path)


def test_numbers_texts_lengths_of_arrays_and_names_of_weights_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, SOUND + b"weights")
    assert found.architecture == "bert"
    assert found.number("context_length") == 512
    assert found.number("nothing") is None
    assert found.values["a"] == 0.5
    assert found.values["b"] is True
    assert found.arrays == {"tokenizer.ggml.tokens": 3}
    assert found.tensors == {"token_embd.weight", "cls.weight"}


def test_a_flag_is_no_number(tmp_path: Path) -> None:
    found = read(tmp_path, head({**LLAMA, "llama.pooling_type": True}))
    assert found.number("pooling_type") is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"PK\x03\x04 an archive", "no GGUF file"),
        (b"GGUF", "cut short"),
        (head(BERT, version=1), "version 1"),
        (head(BERT, version=77), "version 77"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**62, 0), "millions of entries"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**40), "millions of entries"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**33), "megabytes"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 99), "type 99"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 4, 2**60),
            "many millions",
        ),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 2),
            "array of arrays",
        ),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2) + b"\xff\xfe" + b"\0" * 9,
            "not sound",
        ),
    ],
)
def test_what_is_not_sound_is_told_in_one_error(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(UnusableFileError, match=why) as caught:
        read(tmp_path, data)
    assert str(tmp_path) not in str(caught.value)


def test_a_file_that_cannot_be_opened_is_no_other_error(tmp_path: Path) -> None:
    with pytest.raises(UnusableFileError, match="cannot be read"):
        read_header(tmp_path)


@pytest.mark.parametrize("length", range(0, len(SOUND), 7))
def test_every_cut_in_the_head_is_noticed(tmp_path: Path, length: int) -> None:
    with pytest.raises(UnusableFileError):
        read(tmp_path, SOUND[:length])


@given(st.binary(max_size=200), st.integers(0, len(SOUND)))
def test_random_bytes_give_a_head_or_the_one_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int
) -> None:
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    path.write_bytes(SOUND[:at] + data + SOUND[at + len(data) :])
    try:
        found = read_header(path)
    except UnusableFileError:
        return
    assert isinstance(found, Header)


def test_write_gguf_is_what_it_says(tmp_path: Path) -> None:
    assert read_header(write_gguf(tmp_path / "chat" / "m.gguf", LLAMA)).architecture == "llama"
