"""Spellings of one name become one form; different things keep different ones."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.text.entity_names import display_name, normalise


@pytest.mark.parametrize(
    "name",
    [
        "ACME Corp",
        "Acme Corp",
        "acme corp ",
        "acme  corp",
        "acme\u00a0corp",
        "  Acme\tCorp\n",
        "the ACME Corp",
        "Acme Corp's",
        "Acme Corp\u2019s",
        "Acme Corp.",
        "\u201cAcme Corp\u201d",
        "Ａｃｍｅ Corp",  # full width
        "Ac\u00adme Corp",  # soft hyphen
        "Ac\x00me Corp",
    ],
)
def test_case_blanks_forms_and_decoration_do_not_part_a_name(name: str) -> None:
    """B083, B003: one entity whatever way its name is written; NUL never comes through."""
    assert normalise(name) == "acme corp"


def test_composed_and_decomposed_names_are_one() -> None:
    """B083: NFD and NFC."""
    name = "Zoë Müller"
    assert normalise(unicodedata.normalize("NFD", name)) == normalise(name) == "zoë müller"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("King's College", "king college"),
        ("A Tale of Two Cities", "tale of two cities"),
        ("A. A. Milne", "a a milne"),
        ("The", "the"),
        ("Theodore", "theodore"),
        ("An", "an"),
        ("Los Angeles", "los angeles"),
        ("AT&T", "at t"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("C", "c"),
        ("#1 Hits", "1 hits"),
        ("Node.js", "node js"),
        ("Straße", "strasse"),
        ("北京", "北京"),
        ("١٢٣", "123"),
        ("!!!", ""),
        ("", ""),
        ("\ud800", ""),
    ],
)
def test_form_of(name: str, form: str) -> None:
    assert normalise(name) == form


@given(st.text(max_size=60))
def test_a_form_has_no_punctuation_no_nul_no_doubled_blanks(name: str) -> None:
    form = normalise(name)
    assert form == " ".join(form.split())
    assert "\x00" not in form
    form.encode()
    assert normalise(f"  {name}\u00a0") == form


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=60))
def test_case_never_matters(name: str) -> None:
    assert normalise(name.upper()) == normalise(name.lower())


def test_shown_names_lose_what_is_around_them_and_keep_the_rest() -> None:
    """B003: an entity with NUL inside stays readable."""
    assert display_name(' "Ada\x00 Lovelace",\n') == "Ada Lovelace"
    assert display_name("Acme Corp.") == "Acme Corp."
    assert display_name("Hello Love (song)") == "Hello Love (song)"
    assert display_name("(Acme Corp), [Ltd") == "(Acme Corp), [Ltd"
    assert display_name("(Acme Corp)") == display_name("Acme Corp)]") == "Acme Corp"
    assert display_name("((") == display_name("[]") == ""
    assert display_name("C#") == "C#"
