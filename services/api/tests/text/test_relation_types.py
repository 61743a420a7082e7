"""Relation types as the contract cleans them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.text.relation_types import clean_relation_type


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("part of", "PART_OF"),
        ("  uses ", "USES"),
        ("is-a", "IS_A"),
        ("3d model", "REL_3D_MODEL"),
        ("_private", "REL__PRIVATE"),
        ("größer", "GR_SSER"),
        ("部分", "REL___"),
        ("`]->() DETACH DELETE n //", "REL________DETACH_DELETE_N___"),
        ("a\nb\tc", "A_B_C"),
        ("🚀", "REL__"),
        ("ﬁxes", "FIXES"),
    ],
)
def test_types_are_cleaned_as_the_contract_says(said: str, cleaned: str) -> None:
    assert clean_relation_type(said) == cleaned


@given(st.text(max_size=50))
def test_any_text_becomes_a_plain_label_and_stays_it(said: str) -> None:
    """B087: nothing of the text can act as Cypher."""
    cleaned = clean_relation_type(said)
    assert re.fullmatch(r"[A-Z][A-Z0-9_]*", cleaned)
    assert clean_relation_type(cleaned) == cleaned


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,40}", fullmatch=True))
def test_case_is_all_that_changes_in_a_plain_word(word: str) -> None:
    assert clean_relation_type(word) == word.upper()
    assert clean_relation_type(f" {word.lower()}\n") == word.upper()
