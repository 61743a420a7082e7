"""The analyser: which searches find which words."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragbase.errors import InvalidInputError
from ragbase.text.analyse import LANGUAGES, TERM_MAX, analyser, normalise_language

ENGLISH = analyser("english")


def finds(query: str, text: str, language: str = "english") -> bool:
    """Whether a keyword search for ``query`` would hit ``text``."""
    analyse = analyser(language)
    return not set(analyse.query_terms(query)).isdisjoint(analyse.terms(text))


def finds_all(query: str, text: str, language: str = "english") -> bool:
    """Whether every term of the query stands in the text."""
    analyse = analyser(language)
    return set(analyse.query_terms(query)) <= set(analyse.terms(text)) != set()


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("C++", ["c++"]),
        ("C#", ["c#"]),
        (".NET", [".net", "net"]),
        ("a.bcd", ["a.bcd", "bcd"]),
        ("a + b", ["b"]),
        ("(1)23", ["1", "23"]),
        ("[x", ["x"]),
        ("{y", ["y"]),
        ("^z", ["z"]),
        ("~q", ["q"]),
        ("a/b", ["b"]),
        ("<tag", ["tag"]),
        ("path\\", ["path"]),
        ("john AND -doe", ["john", "doe"]),
        ("-word", ["word"]),
        ("Robert'); DROP TABLE x; --", ["robert", "drop", "tabl", "x"]),
    ],
)
def test_operators_are_plain_characters(query: str, terms: list[str]) -> None:
    """B031, B033: the literal terms are searched."""
    assert ENGLISH.query_terms(query) == terms


@pytest.mark.parametrize("query", ["+", "- + &&", "( ) [ ] { }", "%", "\\", "…", " \n\t"])
def test_operators_alone_give_no_term(query: str) -> None:
    """B031."""
    assert ENGLISH.query_terms(query) == []
    assert ENGLISH.terms(query) == []


@pytest.mark.parametrize(
    "name", ["C++", "C#", "F#", ".NET", "R&D", "AT&T", "1.10", "B-52", "C++17"]
)
def test_a_literal_name_is_told_from_its_letters(name: str) -> None:
    """B031: a search for the name ranks texts with it above texts with the bare letters."""
    bare = "".join(c if c.isalnum() else " " for c in name)
    query = set(ENGLISH.query_terms(name))
    assert len(query & set(ENGLISH.terms(f"about {name}, and"))) > len(
        query & set(ENGLISH.terms(f"about {bare} and"))
    )


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("re-entry", "the re-entry of the capsule"),
        ("reentry", "the re-entry of the capsule"),
        ("entry", "the re-entry of the capsule"),
        ("state-of-the-art", "a state-of-the-art method"),
        ("art", "a state-of-the-art method"),
        ("snake_case", "call snake_case() now"),
        ("snakeCase", "call snake_case() now"),
        ("get user name", "obj.getUserName(id)"),
        ("getUserName", "GETUSERNAME"),
        ("server", "class HTTPServer:"),
        ("oneill", "Eugene O’Neill"),
        ("O'Neill", "Eugene O’Neill"),
        ("avion", "l'avion"),
        ("usa", "the U.S.A. today"),
        ("config", "edit config.yaml first"),
        ("config.yaml", "edit config.yaml first"),
        ("example.com", "mail user@example.com"),
        ("1000", "a total of 1,000 units"),
        ("1,000.50", "1000.50"),
        ("2024", "on 2024-05-01"),
        ("peter", "Peter’s book"),
        ("flows", "the flow of air"),
        ("__init__", "def __init__(self)"),
        ("🚀", "launch 🚀 now"),
        ("👍", "well done 👍🏽"),
        ("softhyphen", "soft\u00adhyphen"),
    ],
)
def test_a_search_finds(query: str, text: str) -> None:
    """B031, B033."""
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [("1.10", "1.1 and 110"), ("1-10", "110"), ("c++", "c"), ("c", "C++ C#"), ("net", "network")],
)
def test_a_search_does_not_confuse(query: str, text: str) -> None:
    assert not finds(query, text)


@pytest.mark.parametrize("query", ["the who", "to be or not to be", "it", "AND OR", "NOT", "don't"])
def test_a_query_of_stop_words_finds_them(query: str) -> None:
    """B035: with nothing else to search for, stop words are searched."""
    assert ENGLISH.query_terms(query)
    assert finds_all(query, f"A page about {query}.")


def test_stop_words_beside_other_words_are_not_searched() -> None:
    """B035."""
    assert ENGLISH.query_terms("who is the president of the United States?") == [
        "presid",
        "unit",
        "state",
    ]
    assert ENGLISH.query_terms("I don't know why it isn't red") == ["know", "red"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("本作以三大故事为主轴，分别是以武田信玄等人为主的", "武田信玄"),
        ("本作以三大故事为主轴", "轴"),
        ("東京タワーは港区にあります。", "東京タワー"),
        ("한국어를 공부합니다", "공부"),
        ("물은 차갑다", "물"),
        ("ประเทศไทยมีเมืองหลวงคือกรุงเทพ", "กรุงเทพ"),
        ("ພາສາລາວ", "ລາວ"),
        ("ភាសាខ្មែរ", "ខ្មែរ"),
        ("မြန်မာဘာသာ", "ဘာသာ"),
        ("《战国无双3》由ω-force开发", "ω-force"),
        ("ｶﾞｷﾞｸﾞ", "ガギ"),
    ],
)
@pytest.mark.parametrize("language", ["english", "simple", "chinese", "thai"])
def test_a_part_of_an_unspaced_sentence_finds_it(text: str, part: str, language: str) -> None:
    """B009: whatever the collection's language is."""
    assert finds_all(part, text, language)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("किताबें", "किताब"),
        ("كتاب", "الكِتَابُ"),
        ("كتـــاب", "كتاب"),
        ("книга", "книги"),
        ("елка", "Ёлка"),
        ("٣", "3"),
        ("ΑΘΗΝΑ", "Αθήνα"),
        ("CAFE", "café"),
        ("strasse", "Straße"),
        ("istanbul", "İstanbul"),
    ],
)
def test_other_scripts_in_an_english_collection(query: str, text: str) -> None:
    assert finds_all(query, text)


def test_vowel_signs_do_not_split_words() -> None:
    assert len(ENGLISH.terms("हिन्दी में किताब")) == 3


def test_words_of_the_collection_are_stemmed_in_its_language() -> None:
    assert finds_all("Häuser", "Haus", "german")
    assert finds_all("flows", "flow", "russian")  # Latin words beside a language of another script
    assert analyser("simple").terms("Running Häuser книги") == ["running", "hauser", "книги"]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_the_normal_form_does_not_matter(form: str) -> None:
    text = "Ångström naïve Ｃ＋＋ ﬁne ｶﾞｷﾞ 한국어 Việt हिन्दी １２３ ½ ภาษา"
    assert ENGLISH.terms(unicodedata.normalize(form, text)) == ENGLISH.terms(text)  # type: ignore[arg-type]


def test_full_width_equals_ascii() -> None:
    assert ENGLISH.terms("ＲａｇＢａｓｅ　２．０　Ｃ＋＋") == ENGLISH.terms("RagBase 2.0 C++")


def test_offsets_give_the_original_back() -> None:
    text = "Ｃ＋＋, the e\u0301te\u0301 of O’Neill: 战国無双 x²"
    shown = {token.term: text[token.start : token.end] for token in ENGLISH.tokens(text)}
    assert shown["c++"] == "Ｃ＋＋"
    assert shown["ete"] == "e\u0301te\u0301"
    assert shown["oneil"] == "O’Neill"
    assert shown["国無"] == "国無"


def test_a_long_word_becomes_one_bounded_term() -> None:
    """B011: 100 kB without a break; equal words stay equal, different words different."""
    word = "ab1" * 33_000
    terms = ENGLISH.terms(f"start {word} end")
    assert [terms[0], terms[-1]] == ["start", "end"]
    assert len(terms) == 3
    assert len(terms[1]) == TERM_MAX
    assert ENGLISH.terms(word) == [terms[1]] != ENGLISH.terms(word + "x")
    assert ENGLISH.query_terms(word) == [terms[1]]


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.text(
    "aZsé1.,'’-_#+&/ \u00ad\u200d\u0301ｶﾞ中文ภาां한ᄀ़हि🏽🚀İßﷺ½²", max_size=40
)


@given(ANY_TEXT)
def test_terms_are_sound_for_any_text(text: str) -> None:
    terms = ENGLISH.terms(text)
    tokens = ENGLISH.tokens(text)
    assert [token.term for token in tokens] == terms
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
    assert all(term and len(term) <= TERM_MAX and not any(map(str.isspace, term)) for term in terms)
    assert set(ENGLISH.query_terms(text)) <= set(terms)
    assert ENGLISH.terms(unicodedata.normalize("NFD", text)) == ENGLISH.terms(
        unicodedata.normalize("NFC", text)
    )


@given(ANY_TEXT)
@example("\U0001e5f1")
def test_a_text_finds_itself(text: str) -> None:
    """What is indexed can be searched: no text with terms is out of reach of its own words."""
    assert bool(ENGLISH.query_terms(text)) == bool(ENGLISH.terms(text))


@pytest.mark.parametrize(
    "text",
    [
        "a-" * 500_000,
        "." * 1_000_000,
        "a.b." * 250_000,
        "é́" * 500_000,
        "中" * 1_000_000,
        "+#" * 500_000,
        "👨\u200d" * 300_000,
        "1,234" * 200_000,
        "_" * 1_000_000,
        "aA" * 500_000,
        "🇩🇪" * 200_000 + "ﬁ",
    ],
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    """B011."""
    start = process_time()
    ENGLISH.terms(text)
    ENGLISH.tokens(text[-100_000:])
    assert process_time() - start < 20


def test_threads_share_an_analyser() -> None:
    words = [f"running{i} flows{i} 中文{i}" for i in range(300)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: [ENGLISH.terms(word) for word in words], range(16)))
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("en", "english"),
        ("EN-GB", "english"),
        ("zh_Hans", "chinese"),
        (" German ", "german"),
        ("ja", "japanese"),
    ],
)
def test_language_names(given_name: str, name: str) -> None:
    assert normalise_language(given_name) == name
    assert analyser(given_name) is analyser(name)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_analyses(language: str) -> None:
    assert analyser(language).language == language
    assert finds_all("Test 2024", "a test in 2024", language)


@pytest.mark.parametrize("language", ["klingon", "", "../english", "xx"])
def test_an_unknown_language_is_refused(language: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        analyser(language)
    assert (caught.value.code, caught.value.field) == ("unknown_language", "language")
