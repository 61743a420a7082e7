"""What a reader of a page sees, as Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.ingest.markdown_blocks import markdown_blocks
from ragbase.ingest.parse.from_html import parse
from ragbase.ingest.parse.parsed import FileFacts, ParsedFile


def page(html: str | bytes, charset: str | None = None) -> ParsedFile:
    data = html if isinstance(html, bytes) else html.encode()
    return parse(data, FileFacts("page.html", charset))


def text(html: str) -> str:
    return page(html).content


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<p>Use &lt;script&gt;alert(1)&lt;/script&gt; here", "Use <script>alert(1)</script> here"),
        ("<p>&#233;&#x2602;&#8211;", "é☂–"),
        ("<p>&constructor; &__proto__; &toString;", "&constructor; &__proto__; &toString;"),
        ("<style>p{}</style>&eacute;t&eacute;", "été"),
        ("<p>AT&T &copy; 2020 &amp;lt;", "AT&T © 2020 &lt;"),
        ("<p>a&nbsp;b&shy;c", "a bc"),
        ("<p>snake_case *star* a|b", "snake_case *star* a|b"),
        (
            "<p>x <b>bold</b> <a href='http://u'>link</a> <img src=s alt='a lamp'>",
            "x bold link a lamp",
        ),
        ("<p>one<br>two", "one\ntwo"),
        ("<p>one\n  two", "one two"),
    ],
)
def test_shown_text_stays_literal(html: str, shown: str) -> None:
    """B017: encoded tags, numeric and unknown entities, an entity right after a style block."""
    assert text(html) == shown


@pytest.mark.parametrize(
    "line", ["# no heading", "```", "~~~ x", "---", "===", "<script>", "<!-- no comment", "***"]
)
def test_text_that_looks_like_markdown_makes_no_block(line: str) -> None:
    """B017: what is text on the page is text in the document."""
    escaped = line.replace("<", "&lt;")
    for html in (
        f"<p>{escaped}</p><h2>Real</h2>",
        f"<div>{escaped}</div><h2>Real</h2>",
        f"<p>a<br>{escaped}</p><h2>Real</h2>",
        f"<p><b>{escaped}</b></p><h2>Real</h2>",
    ):
        content = text(html)
        assert line in content
        headings = [block.title for block in markdown_blocks(content) if block.kind == "heading"]
        assert headings == ["Real"]


def test_what_nobody_sees_is_left_out() -> None:
    hidden = [
        "<!-- comment -->",
        "<script>code()</script>",
        "<style>p{}</style>",
        "<template>later</template>",
        "<noscript>no script</noscript>",
        "<p hidden>hidden</p>",
        "<p aria-hidden=true>hidden</p>",
        "<p style='color:red; display : none'>hidden</p>",
        "<nav>menu</nav>",
        "<div role=navigation>menu</div>",
        "<header>site</header>",
        "<footer>imprint</footer>",
        "<button>press</button><select><option>one</select><textarea>t</textarea>",
        "<![CDATA[data]]><?php echo ?>",
    ]
    for part in hidden:
        assert text(f"<body>{part}<p>Ships moor at the north quay.</p>{part}") == (
            "Ships moor at the north quay."
        ), part


def test_the_main_part_is_taken_and_an_articles_own_header_kept() -> None:
    html = "<p>aside</p><main><header><h1>Title</h1></header><p>text</p><nav>toc</nav></main>"
    assert text(html) == "# Title\n\ntext"
    assert text("<p>intro</p><article><p>only one</p></article>") == "only one"
    two = "<article>one</article><article>two</article>"
    assert text(two) == "one\n\ntwo"
    assert text("<main> </main><p>text") == "text"


def test_a_page_of_links_alone_is_not_emptied() -> None:
    assert text("<nav><ul><li>One<li>Two</ul></nav>") == "- One\n- Two"


def test_structure_is_kept() -> None:
    html = """<h1>Harbour</h1><h3>Moor<i>ing</i></h3>
    <ul><li>One<ul><li>Sub</ul><li><p>Two</p><p>more</p></ul>
    <ol start=3><li>c<li>d</ol>
    <blockquote><p>said</blockquote><dl><dt>Term<dd>meaning</dl>
    <pre><code class="language-py">if a:
    # not a heading
```</code></pre>"""
    assert text(html) == (
        "# Harbour\n\n### Mooring\n\n- One\n  - Sub\n- Two\n\n  more\n\n3. c\n4. d\n\n> said\n\n"
        "Term\n: meaning\n\n````py\nif a:\n    # not a heading\n```\n````"
    )


def test_tables_of_data_stay_tables_and_layout_does_not() -> None:
    data = "<table><caption>Depths</caption><tr><th>Quay<th>m<tr><td>North|South<td>9<br>10</table>"
    assert text(data) == "Depths\n\n| Quay | m |\n| --- | --- |\n| North\\|South | 9 10 |"
    layout = "<table><tr><td><h2>Left</h2><p>text</p></td><td><table><tr><td>a<td>b</table></table>"
    assert text(layout) == "## Left\n\ntext\n\n| a | b |\n| --- | --- |"
    spans = "<table><tr><td colspan=2>a</td></tr><tr><td>b<td>c</table>"
    assert text(spans) == "| a | |\n| --- | --- |\n| b | c |"
    assert text("<table><tr><td colspan=99999999999>a</table>").startswith("| a |")


def test_the_head_gives_title_and_metadata() -> None:
    found = page(
        "<html lang=de><head><title> Harbour\n rules </title><meta name=Author content=Ann>"
        "<meta property=article:published_time content=2024-01-02><meta name=viewport content=x>"
        "<meta name=description content=' '></head><h1>Other</h1>"
    )
    assert found.title == "Harbour rules"
    assert found.metadata == {
        "author": "Ann",
        "published": "2024-01-02",
        "file": {"language": "de"},
    }
    assert page("<title>Untitled</title><h1>Mooring</h1>").title == "Mooring"
    assert page("<p>nothing").title == ""


def test_encodings_are_the_bytes_then_the_pages_then_the_senders() -> None:
    japanese = "<meta charset=Shift_JIS><p>港".encode("shift_jis")
    assert page(japanese).content == "港"
    assert page("<p>港".encode("shift_jis"), "shift_jis").content == "港"
    assert page("<meta charset=latin-1><p>港").content == "港"
    assert page("<html><p>港".encode("utf-16")).content == "港"
    guessed = page("<p>Die Tür schließt früh.".encode("latin-1"))
    assert [warning.code for warning in guessed.warnings] == ["encoding_guessed"]


@given(st.text(alphabet=st.sampled_from("<>/&;!-#x0ascriptdivp \"'=\n"), max_size=60))
def test_no_mark_up_is_too_broken(html: str) -> None:
    content = page(html).content
    assert "\0" not in content
    content.encode()


@pytest.mark.parametrize("start", ["<!-- ", "<a ", "<![CDATA[ > ", "<!-- > ", '<a x="'])
def test_what_is_left_open_a_hundred_thousand_times_costs_no_more_than_its_length(
    start: str,
) -> None:
    """The parser alone takes minutes for 30,000 of them."""
    shown = text(f"<p>before</p>{start * 100_000}")
    assert shown.startswith("before")


def test_a_few_things_left_open_are_read_as_the_parser_reads_them() -> None:
    assert text("<p>a</p><!-- x --><p>b</p>") == "a\n\nb"
    assert text("<p>a < b <c") == "a < b <c"
