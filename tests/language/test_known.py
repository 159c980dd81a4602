"""Which language a text is in, by its words alone."""

from __future__ import annotations

import pytest

from pagefault.language.analyzer import analyze, other_languages, query_words, unseen_joints
from pagefault.language.known import LANGUAGES, LATIN, OTHER_CODES, told, told_or_latin
from pagefault.language.language import Cue
from pagefault.language.patterns import joined


@pytest.mark.parametrize(
    ("text", "languages"),
    [
        ("Wo ist der Schlüssel für den Keller?", ("de",)),
        ("Où est la clé de la cave ?", ("fr",)),
        ("¿Dónde está la llave del sótano?", ("es",)),
        ("Waar is de sleutel van de kelder?", ("nl",)),
        ("Gdzie jest klucz do piwnicy?", ("pl",)),
        ("Где ключ от подвала?", ()),  # Cyrillic is taken for Russian
        ("Где је кључ од подрума, када је он овде?", ("sr-cyrl",)),
        ("钥匙在哪里？", ()),
        ("Where is the key of the cellar?", ()),
        ("cellar key missing", ()),
    ],
)
def test_a_text_is_in_the_language_of_its_words_of_grammar(
    text: str, languages: tuple[str, ...]
) -> None:
    assert other_languages(text) == languages


@pytest.mark.parametrize(
    "text",
    [
        "We drove from Los Angeles to El Paso and La Jolla.",
        "The Museo de la Ciudad de México is worth a visit.",
        "He will die in the war, man.",
        "Pour the rest in, son.",
        "for item in items: if item is not None: return item",
        "The die was cast; the hat and the pen are mine.",
    ],
)
def test_foreign_names_and_lookalikes_turn_no_english_sentence(text: str) -> None:
    assert other_languages(text) == ()
    assert [one.code for one in told(text)] == ["en"]


def test_a_text_that_shows_no_language_may_be_any_in_latin_letters() -> None:
    assert told_or_latin("zxcv qwerty") == LATIN
    for text in ("ключ", "κλειδί", "բանալի", "مفتاح", "चाबी", "சாவி", "钥匙", "かぎ", "열쇠"):
        assert told_or_latin(text) == told(text) != ()


def test_each_paragraph_is_in_a_language_of_its_own() -> None:
    german, english = "Die Schlüssel liegen bei der Nachbarin.", "The boxes are in the attic."
    assert other_languages(f"{english}\n\n{german}") == ("de",)
    assert analyze(f"{english}\n\n{german}") == analyze(english) + analyze(german)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Die Heizungen sind nicht warm.", "Ist die Heizung an?"),
        ("Les clés sont dans la boîte.", "Où est la clé ?"),
        ("Las llaves están en la caja.", "¿Dónde está la llave?"),
        ("Дачи стоят у реки.", "Где наша дача?"),
        ("आज चाबियाँ मिल गईं।", "चाबियां कहाँ हैं?"),
        ("Er ging nach Hause und ist weg.", "Wann gehen wir nach Hause?"),
        ("L'appartement est grand et cher.", "Combien coûte un appartement ?"),
        ("昨日は寿司を食べた。", "何を食べる？"),
    ],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    shared = set(analyze(one)) & {
        term
        for word in query_words(other, other_languages(one))
        for term in ((word,) if isinstance(word, str) else word)
    }
    assert shared


@pytest.mark.parametrize(
    "code", ["parseInvoice", "deploy_staging.sh", "src/orders/mapper.ts", "v2", "ABC-123"]
)
def test_code_is_in_no_language(code: str) -> None:
    terms = analyze(code)
    for text in (f"Das ist die Datei {code} und nicht mehr.", f"Où est le fichier {code} ?"):
        assert other_languages(text)
        assert set(terms) <= set(analyze(text))
    assert query_words(code, ("de", "fr")) == query_words(code)


def test_a_word_of_a_query_is_one_word_whichever_language_a_page_has_it_in() -> None:
    assert query_words("Heizungen", ("de",)) == [("heizungen", "heizung")]
    assert query_words("Heizungen") == ["heizungen"]
    assert query_words("Umzug", ("de",)) == ["umzug"]


def test_a_query_is_asked_without_the_stop_words_of_its_scope() -> None:
    assert query_words("welche Firma", ("de",)) == ["firma"]
    assert query_words("什么时候去北京") == ["去北", "北京"]
    assert query_words("何を食べますか") == ["食"]


def test_a_joint_that_stands_nowhere_tells_nothing() -> None:
    asked = ["去北", "北京", "京烤", "烤鸭"]
    assert unseen_joints(asked, [False, True, False, False]) == {0, 2}
    assert unseen_joints(asked, [False, False, False, False]) == {1, 3}
    assert unseen_joints(asked, [True, True, True, True]) == frozenset()
    assert unseen_joints(["red", "edge"], [False, True]) == frozenset()


def test_every_stemmer_is_there_and_every_cue_is_an_expression() -> None:
    for one in LANGUAGES:
        assert analyze(" ".join(sorted(one.stop_words)[:5])) or not one.stop_words
    for cue in Cue:
        assert joined(cue)
    assert len({one.code for one in LANGUAGES}) == len(LANGUAGES)
    assert len(OTHER_CODES) > 20


def test_what_is_sought_in_every_text_is_in_no_english_one() -> None:
    """Cues of statements are looked for whatever the language: a word that English has would be
    found there with another meaning.
    """
    import re

    english = next(one for one in LANGUAGES if one.code == "en")
    words = sorted(english.stop_words | english.function_words | english.fillers)
    for cue in (Cue.DECISION, Cue.PREFERENCE, Cue.FACT, Cue.TURNING, Cue.NEGATION):
        others = joined(cue, [one for one in LANGUAGES if one is not english])
        found = [word for word in words if re.fullmatch(others, word, re.IGNORECASE)]
        assert found == [], cue
