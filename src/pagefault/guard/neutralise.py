"""Prevents stored text from forging the protocol it is rendered into, visibly.

Stored text is never changed; only its rendering is. A reader still sees every word: an angle
bracket becomes its single-quote look-alike, a bracket one with a quill, a parenthesis an ornamental
one, and a control or invisible character is spelled out as `⟨U+202E⟩`.

Structure is searched in a *fold* of the text, which is how a model reads it rather than how bytes
compare: compatibility forms and look-alike letters count as the plain ones, invisible characters as
nothing, and every kind of line break as one (and is shown as one). The scope: only what reads as
our own tags, labels and citations, as a control token of a chat template, or as a tag for calls,
turns and instructions that models were trained on, is changed. The last are recognised by the words
in the tag's name: `<div>`, `Vec<size_t>` and `<my-button>` stay. So do other brackets that resemble
`<`, which are no closer to a tag than our replacement; encodings that a reader would have to undo
first (entities, escapes, base64); and plain words such as `System:`, except the two that opened a
turn of old models, after a blank line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Final

from pagefault.model.kinds import PAGE_PREFIX

_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer

_ACTING: Final = re.compile(
    # The flags of England, Scotland and Wales are the only emoji that are spelled with tags.
    "(?P<flag>\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067"
    "|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f)"
    "|(?P<acting>["
    "\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"  # C0 and C1 controls except tab, LF, CR
    "\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # breaks, overrides, joins
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tag characters: invisible ASCII
    "\ud800-\udfff]"  # lone surrogates cannot be encoded at all
    f"|\u200b(?![{_UNSPACED}])|(?<![{_UNSPACED}])\u200b"  # a break that these scripts need
    # One joiner, direction mark or selector shapes its neighbour; a run of them hides a message.
    "|(?<=[\u061c\u200c-\u200f])[\u061c\u200c-\u200f]"
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef])"
)

_OPENS: Final = re.compile("[<(\\[≮﹤＜⁽₍︵﹙（﹇［]")  # what folds to an opening bracket
_UNSEEN: Final = re.compile("[^\t\n\x20-\x7e]")  # any other character is read unchanged
_BREAKS: Final = frozenset("\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_LOOK_ALIKE: Final = dict(
    zip(
        "∶꞉ːː׃⁄∕" + "ѴѵνᴠМмΜᴍϺ" + "АаΑαсСеЕΕеіІιΙӏ" + "ѕЅоОοΟрРρΡтТτΤхХΧгᴦԁɡᴜᴛᴏꜱᴀᴇʀ",
        ":::::" + "//" + "VvvvMmMmM" + "AaAacCeEEeiIiIl" + "sSoOoOpPpPtTtTxXXrrdgutosaer",
        strict=True,
    )
)

_SHOWN: Final = {"<": "‹", "[": "⁅", "]": "⁆", "(": "❨", ":": "∶"}

_SPACE: Final = r"[^\S\n]*"
_ID: Final = rf"{_SPACE}[A-Za-z]{{3,4}}{_SPACE}_{_SPACE}\d"
_PREFIXES: Final = "|".join((*PAGE_PREFIX.values(), "img", "aud", "vid"))
_PAGE: Final = rf"(?i:(?:{_PREFIXES}){_SPACE}_{_SPACE}\d)"
_OUR_ID: Final = rf"{_SPACE}{_PAGE}"
_GAP: Final = rf"(?:[^\w(\n]|\((?!{_ID}))"  # quotes, bullets, spaces
_WORDS: Final = rf"(?:[^\W\d_]{{1,20}}(?!\w){_GAP}+){{1,2}}"  # a speaker's name

_TAG: Final = re.compile(r"<(?=[\s/\\!?]*v\s*m\s*:)", re.IGNORECASE)
_TOKEN: Final = re.compile(
    r"<(?=\|[\w▁./-]{1,64}\|>"
    r"|\s*\|\s*(?i:im_start|im_end|im_sep|endof\w+|begin_of\w+|end_of\w+|start_header_id|end_header_id"
    r"|eot_id|eom_id|python_tag|start|end|message|channel|call|return|constrain"
    r"|system|user|assistant|tool)\b"
    r"|(?i:/?s|bos|eos|[se]op|start_of_turn|end_of_turn|(?:bos|eos|eop)_token)>|</?SYS>>"
    r"|\s*\|\s*DSML\s*\||\|(?:turn|tool|tool_call|tool_response|channel|think)>"
    r"|(?:turn|tool|tool_call|tool_response|channel)\|>|(?:extra_id|SPECIAL)_\d{1,3}>"
    r"|/?(?:TOOLCALL|TOOLRESPONSE|arg_key|arg_value)>|/?(?:minimax|seed):\w"
    r"|/?command-(?:name|args|contents)>|role>\s*(?:SYSTEM|HUMAN|ASSISTANT|OBSERVATION)\b)"
)
"""Control tokens and turns of ChatML and Qwen, Llama 2 to 4, Gemma, Harmony, Phi, Cohere, Granite,
DeepSeek, Kimi, GLM, Nemotron, MiniMax, Seed and Ling, as in their chat templates.
"""
_INSTRUCTION: Final = re.compile(
    r"\[(?=\s*/?\s*(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK"
    r"|ARGS|CALL_ID|MODEL_SETTINGS|BOS|EOS|EOT|gMASK)\s*\]|e~\[)"
)
_TURN: Final = re.compile(r"\](?=~!?b[\[\]])")  # MiniMax
_TALKS: Final = (  # names of such tags consist of these words only
    "antml|function|tool|call|result|response|output|input|use|system|user|assistant|human|developer"
    "|model|reminder|prompt|message|instruction|thinking|thought|reasoning|scratchpad|parameter"
    "|argument|invoke|turn|start|end|of|begin|available|command|error|context|environment|local"
    "|stdout|caveat|declaration|web|search|code|execution|python|tag|header|id|channel|final|memory|im|sep"
)
_ALONE: Final = (
    r"(?:\w{1,20}:)?(?:think|thinking|invoke|parameter|function|tool|system|assistant|human|user)s?"
)
_MARKUP: Final = re.compile(
    r"<(?=[\s/\\!?]*antml\s*:"
    rf"|[\s/\\!?]*(?:{_TALKS})s?(?:[_▁:.-](?:{_TALKS})s?)+(?![\w.-])"
    rf"|[\s/\\!?]*{_ALONE}\s*>|/?{_ALONE}(?![\w.-]))",  # and `x < user` is a comparison
    re.IGNORECASE,
)
_SPEAKER: Final = re.compile(r"(?:\A|\n[^\S\n]*\n)[^\S\n]*(?:Human|Assistant)[^\S\n]*:")
_CITATION: Final = re.compile(r"\[(?=\s*ref\s*:)", re.IGNORECASE)
_CITED: Final = re.compile(rf"[\[\]⁅\n]|(?<![^\W_]){_PAGE}|git\s*:\s*[0-9a-f]", re.IGNORECASE)
"""Brackets, line ends, and the names of pages and commits that make a bracket a citation."""
_LABEL: Final = re.compile(
    # At the start of a line, after any bullets, quotes, numbers or speaker …
    rf"^(?:{_GAP}|[\d_])*(?:\((?={_ID})|[A-Z]{_SPACE}\((?={_ID})|(?:{_WORDS})\((?={_OUR_ID}))"
    # … and anywhere, if it is closed and followed by a colon, as in VM:CONTEXT.
    rf"|\((?={_OUR_ID}[^()❨\n]{{0,120}}\){_SPACE}:)",
    re.MULTILINE,
)


def neutralise(text: str, *, citations: bool = False) -> str:
    """`text` in a form that is safe to show to a model: encodable, without forged structure.

    `citations` keeps `[ref: …]`: right for the model's own text, wrong for anything else, because a
    citation in a page would look like evidence. Idempotent.
    """
    return (_remembered if len(text) <= _REMEMBERED_CHARS else _neutralised)(text, citations)


def _neutralised(text: str, citations: bool) -> str:
    if _OPENS.search(text) or "uman" in text or "ssistant" in text or "~" in text:
        text = _without_structure(text, citations=citations)
    if text.isascii() and text.isprintable():
        return text
    return _ACTING.sub(_spell, text.replace("\r\n", "\n").replace("\r", "\n"))


_REMEMBERED_CHARS: Final = 2_000  # a request counts a page alone, with others, and as it is sent
_remembered: Final = lru_cache(maxsize=256)(_neutralised)


def without_tags(text: str) -> str:
    """`text` without our tags; labels and citations stay."""
    patterns = ((_TAG, "<"), (_TOKEN, "<"), (_MARKUP, "<"), (_INSTRUCTION, "["), (_TURN, "]"))
    return _ACTING.sub(_spell, _replaced(text, patterns))


def uncited(text: str) -> str:
    """`text` with brackets that name a page or a commit opened by `⁅`: for lines that end in
    citations of their own. Of nested brackets, only the innermost around a name. Idempotent.
    """
    if "[" not in text and text.isascii():
        return text
    folded, places = _fold(text)
    opened: list[int] = []  # the places of the brackets that are open
    named: set[int] = set()
    for match in _CITED.finditer(folded):
        match match[0]:
            case "[" | "⁅":
                opened.append(places[match.start()])
            case "]":
                del opened[-1:]
            case "\n":
                opened.clear()
            case _:
                named.update(opened[-1:])
    return _shown_at(text, dict.fromkeys(named, _SHOWN["["]))


def _without_structure(text: str, *, citations: bool) -> str:
    patterns = (
        (_TAG, "<"),
        (_TOKEN, "<"),
        (_MARKUP, "<"),
        (_SPEAKER, ":"),
        (_INSTRUCTION, "["),
        (_TURN, "]"),
        (_LABEL, "("),
        *(() if citations else ((_CITATION, "["),)),
    )
    return _replaced(text, patterns)


def _replaced(text: str, patterns: Iterable[tuple[re.Pattern[str], str]]) -> str:
    """`text` with the sign that ends each match of these patterns shown as something else."""
    folded, places = _fold(text)
    found: dict[int, str] = {}
    for pattern, sign in patterns:
        # A label also has an id, and searching for labels is slowest.
        if sign in folded and (pattern is not _LABEL or "_" in folded):
            for match in pattern.finditer(folded):
                found[places[match.end() - 1]] = _SHOWN[sign]
    return _shown_at(text, found)


def _shown_at(text: str, found: Mapping[int, str]) -> str:
    """`text` with the characters at these places replaced."""
    if not found:
        return text
    characters = list(text)
    for place, shown in found.items():
        characters[place] = shown
    return "".join(characters)


def _fold(text: str) -> tuple[str, range | list[int]]:
    """`text` as a model reads it, and for each of its characters the position in `text`."""
    same = _UNSEEN.sub(_as_read, text)
    if len(same) == len(text):  # one to one, as nearly always
        return same, range(len(text))
    folded: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        plain = character if "\x20" <= character <= "\x7e" else _plain(character)
        if plain:
            folded.append(plain)
            places.append(place)
    return "".join(folded), places


def _as_read(match: re.Match[str]) -> str:
    return _plain(match[0])


@cache
def _plain(character: str) -> str:
    """The character that this one is read as; itself if in doubt; "" if it is invisible."""
    if character in "\t\n":
        return character
    if character in _BREAKS:
        return "\n"
    if character in "\u115f\u1160\u3164\uffa0\u2065":  # fillers: blank, but not spaces
        return ""
    kept = [
        part
        for part in unicodedata.normalize("NFKD", character)
        if unicodedata.category(part) not in ("Mn", "Me", "Cf", "Cc", "Cs")
    ]
    if len(kept) > 1:
        return character
    return _LOOK_ALIKE.get(kept[0], kept[0]) if kept else ""


def _spell(match: re.Match[str]) -> str:
    return match["flag"] or f"⟨U+{ord(match['acting']):04X}⟩"
