"""What means something only whole comes through level 1 whole, whatever it is and says."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pagefault
from pagefault.model.ids import PageId
from pagefault.model.kinds import Kind, Level, Role
from pagefault.pack.count import O200k
from pagefault.represent.api import Source, full_text
from pagefault.represent.extractive import compress_range

COUNT = O200k().count

SAMPLES: Final = {
    "python": "if x:\n        return 1\n    else:\n        return 2\n",
    "python with courtesy in it": (
        'def greet(name):\n    """Hello!\n\n    Thanks so much!\n    """\n\n    return "Thanks!"\n'
    ),
    "the same line in two functions": (
        "def first(rows):\n    return json.dumps(rows, indent=2, sort_keys=True)\n\n\n"
        "def second(rows):\n    return json.dumps(rows, indent=2, sort_keys=True)\n"
    ),
    "makefile": "all: build\n\tcc -o app main.c\n\nclean:\n\trm -f app\n",
    "yaml": "services:\n  web:\n    image: app\n    ports:\n      - 80\n  db:\n    image: pg\n",
    "go": 'func main() {\n\tfmt.Println("really")\n\n\tfmt.Println("really")\n}\n',
    "haskell": "main = do\n  line <- getLine\n  putStrLn line\n  putStrLn line\n",
    "lisp": "(defun f (x)\n  (if (> x 0)\n      x\n      (- x)))\n",
    "ruby": 'def hi\n  puts "Hello!"\n  puts "Hello!"\nend\n',
    "fortran": "      DO 10 I = 1, 3\n      PRINT *, I\n   10 CONTINUE\n",
    "shell": "for f in *.txt; do\n  echo really very good\ndone\n",
    "heredoc": "cat <<END\nHello!\n\nThanks!\nEND\n",
    "sql": "SELECT name\n  FROM users\n WHERE age > 3\n   AND name <> 'Hello!';\n",
    "markdown table": "| a   | very |\n|-----|------|\n| 1   | 2    |\n| 1   | 2    |\n",
    "ascii table": "+---+-----+\n| a | b   |\n+---+-----+\n| 1 | 2   |\n+---+-----+\n",
    "columns": "NAME      READY   AGE\nweb-1     1/1     3d\nweb-2     0/1     3d\n",
    "diff": "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n",
    "log": "12:00:01 retry\n12:00:02 retry\nretry again in a few seconds.\n"
    "retry again in a few seconds.\nretry again in a few seconds.\n",
    "stack trace": 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n'
    "  ^^^\nValueError: really\n",
    "java trace": "Exception in thread main\n\tat a.B.c(B.java:7)\n\tat a.B.c(B.java:7)\n",
    "json": '{\n  "a": {\n    "b": [1,\n          2]\n  },\n  "thanks": "so much!"\n}\n',
    "csv": "name,said,n\nAda,Thanks so much!,1\nAda,Thanks so much!,1\n",
    "tsv": "a\tb\tc\n1\t\t3\nThanks!\t\t\n",
    "nested list": "- one\n  - two\n    - three\n\n      Thanks!\n  - four\n",
    "numbered list": "1. Wash it.\n2. Dry it.\n3. Wash it.\n",
    "verse": "Good morning, world!\nThe sun is up.\nGood morning, world!\nThe day is long.\n",
    "markdown breaks": "The first line  \nthe second line  \nHello!  \nthe end",
    "quotation": "> Thanks so much!\n> See you soon!\n\nWhat does he mean?",
    "letter": "Hello!\n   indented\n\nBye!\n",
    "windows": "if x:\r\n    return 1\r\n\r\n    # Thanks!\r\n",
    "old system": "one\rtwo\r  three\r",
    "blank lines": "\n\n\nfirst\n\n\n\nsecond\n   \n",
    "chinese poem": "床前明月光\n疑是地上霜\n　　舉頭望明月\n　　低頭思故鄉\n",
    "japanese columns": "名前　　　年齢\n花子　　　２０\n",
    "arabic list": "- مرحبا\n  - شكرا جزيلا\n    - مع السلامة\n",
    "hebrew python": 'def f():\n    # תודה רבה!\n    return "שלום"\n',
    "toml": '[tool]\nname = "x"\n\n[tool.more]\nname = "x"\n',
    "ini comment": "; Thanks!\n[a]\nb=1\n",
    "latex": "\\begin{align}\n  a &= b \\\\\n    &= c\n\\end{align}\n",
    "html": "<ul>\n  <li>Hello!</li>\n  <li>Hello!</li>\n</ul>\n",
    "fence": "Thanks!\n\n```\nx = 1\nx = 1\n```\n\nThanks!\n",
    "front matter": "---\ntitle: Hello!\n---\n\nHello!\n",
    "tree": "src\n├── a\n│   └── b\n└── c\n",
    "keys": "Hello: world!\n\nThanks: everybody!\n",
    "cobol": "MOVE ZERO TO TOTAL OF RECORD.\n\nPERFORM READ-NEXT.\n\n"
    "MOVE ZERO TO TOTAL OF RECORD.\n",
    "log between blank lines": "Connection to the database was lost.\n\nTrying once more.\n\n"
    "Connection to the database was lost.\n",
    "villanelle": "The sea gives nothing back to those who wait.\n\nThe boats are gone.\n\n"
    "The sea gives nothing back to those who wait.\n",
    "knitting": "Knit two and purl two to the end of the row.\n\nPurl all stitches of the row.\n\n"
    "Knit two and purl two to the end of the row.\n",
    "expected output": "It prints this.\n\nHello world.\n\nHello world.\n\nHello, World!\n",
    "steps on one line": "Turn the left wheel by one notch. Press the button. "
    "Turn the left wheel by one notch. Press the lever.",
    "a paragraph twice": "Open the valve for ten seconds. Wait until it is quiet.\n\n"
    "Open the valve for ten seconds. Wait until it is quiet.\n",
}


def pages(*texts: str, role: Role = Role.USER, kind: Kind = Kind.TRANSCRIPT) -> list[Source]:
    return [
        Source(page_id=PageId(f"msg_{number}"), text=text, role=role, kind=kind)
        for number, text in enumerate(texts, 1)
    ]


def reduced(sources: list[Source]) -> str:
    return compress_range(sources, Level.REDUCED, count=COUNT).text


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_not_plain_prose_is_the_same_byte_for_byte_at_level_1(name: str) -> None:
    text = SAMPLES[name]
    assert reduced(pages(text)) == text
    # Said twice, with courtesy between: in a summary of the turns it stands twice, and whole.
    several = pages(text, "Thanks so much!", text)
    assert reduced(several) == full_text([several[0], several[2]])


def test_prose_beside_code_stays_too() -> None:
    text = f"Thanks so much!\n\n{SAMPLES['python']}\n\nThanks so much!"
    assert reduced(pages(text)) == text


@pytest.mark.parametrize(
    ("role", "kind"), [(Role.TOOL, Kind.TRANSCRIPT), (Role.USER, Kind.ARTIFACT)]
)
def test_what_a_tool_returned_or_was_handed_in_is_data(role: Role, kind: Kind) -> None:
    text = "Hello! The build of the main branch is green. Thanks so much!"
    assert reduced(pages(text, text, role=role, kind=kind)) == f"{role}: {text}\n{text}"


LINES: Final = st.one_of(
    st.sampled_from([line for text in SAMPLES.values() for line in text.splitlines()]),
    st.sampled_from(["Thanks!", "Hello!", "We use Redis as the cache.", "", "Вот так.", "谢谢！"]),
    st.text(max_size=12),
)
INDENTS: Final = st.sampled_from(["", "", "  ", "    ", "\t", " ", "\u3000"])
ENDS: Final = st.sampled_from(["\n", "\n", "\r\n", "\n\n", " \n", "  \n"])


@st.composite
def laid_out(draw: st.DrawFn) -> str:
    """Lines of anything, indented and ended in any way."""
    lines = draw(st.lists(st.tuples(INDENTS, LINES, ENDS), max_size=8))
    return "".join(indent + line + end for indent, line, end in lines)


@settings(deadline=None)
@given(laid_out())
@example("Hello!\n\nuse = hello\n")
def test_whatever_stays_keeps_its_white_space_and_its_order(text: str) -> None:
    """Level 1 is the text without some whole sentences of unindented paragraphs."""
    made = compress_range(pages(text), Level.REDUCED, count=COUNT)
    said = text.encode()
    assert "".join(said[span.start : span.end].decode() for span in made.spans) == made.text
    kept = iter(made.text.splitlines())
    left = next(kept, None)
    gone: list[str] = []
    for line in text.splitlines():
        if left is not None and line == left:
            left = next(kept, None)
        elif line.strip():
            gone.append(line)
            if left is not None and left.strip() and left in line:
                left = next(kept, None)
    assert left is None
    assert all(line == line.strip() for line in gone)
    if any(line[:1].isspace() and line.strip() for line in text.splitlines()):
        assert made.text == text


@settings(deadline=None)
@given(laid_out())
def test_a_quoted_line_keeps_its_indentation_at_level_2(text: str) -> None:
    made = compress_range(pages(text * 9), Level.ABSTRACT, count=COUNT)
    for line in made.text.split("\n"):
        if line[:1] in (" ", "\t") and len(line) < 300:
            assert line in text


async def test_code_comes_whole_into_a_summary_and_a_shorter_form() -> None:
    """Where the window is, not only where the rules are."""
    code = SAMPLES["python"] + "\n" + SAMPLES["yaml"]
    async with pagefault.open(":memory:") as memory:
        session = await memory.session("code")
        page_id = await session.user(code)
        shorter = await session.compress(page_id, level=1)
        assert shorter.text == code
