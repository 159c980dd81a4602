"""Dutch."""

from __future__ import annotations

from typing import Final

from pagefault.language.language import Cue, Dates, Holiday, Language, Script, counted, words

_WHAT: Final = r"(?:wie|wiens|wat|welke?|wanneer|waar(?:om|heen|mee|van|voor|over|op|aan|in|naar|uit|door|naartoe|vandaan)?|hoe(?:veel|lang)?)\b"
_FINITE: Final = (
    "(?:is|ben|bent|zijn|was|waren|heb|hebt|heeft|hebben|had|hadden|kan|kun|kunt|kunnen|kon|konden|zal|zult|zullen|zou|zouden|moet"
    "|moeten|mag|mogen|wil|wilt|willen|word|wordt|worden|werd|doe|doet|doen|ga|gaat|gaan|weet|weten|ken|kent|komt|kom|komen)"
)

DUTCH: Final = Language(
    code="nl",
    script=Script.LATIN,
    snowball="dutch",
    stop_words=words(
        """
        aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen geweest haar
        had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na
        naar niet niets nog nu of om omdat onder ons onze ook op over reeds te tegen toch toen tot u uit uw van veel voor waar waren was
        wat welke werd wezen wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou wanneer waarom jullie hebben we
        """
    ),
    opposites=words("niet niets geen nooit niemand zonder"),
    times=words(
        """
        gisteren gister gisteravond eergisteren vandaag vanochtend vanmorgen vanmiddag vanavond vannacht morgen overmorgen onlangs
        geleden vorige vorig afgelopen volgende volgend week weekend maand jaar sinds maandag dinsdag woensdag donderdag vrijdag
        zaterdag zondag januari februari maart april mei juni juli augustus september oktober november december
        """
    ),
    numbers=words(
        "twee drie vier vijf zes zeven acht negen tien elf twaalf vijftien twintig dertig veertig vijftig honderd duizend dozijn"
    ),
    anything=words(
        """
        gebeuren gebeurd gebeurde bespreken besproken praten gepraat zeggen gezegd vertellen verteld spreken gesproken gedaan deden
        besluiten besloten afgesproken nieuws vorige vorig afgelopen laatste dag dagen week weken weekend maand maanden jaar jaren
        geleden gisteren eergisteren vandaag maandag dinsdag woensdag donderdag vrijdag zaterdag zondag januari februari maart
        april mei juni juli augustus september oktober november december twee drie vier vijf zes eerste tweede derde vierde begin
        half midden medio eind einde lente voorjaar zomer herfst najaar winter carnaval aswoensdag palmzondag pasen paasdag
        paasweekend hemelvaart hemelvaartsdag pinksteren pinksterdag koningsdag sinterklaas kerst kerstmis kerstavond kerstdag
        oudejaarsavond nieuwjaar nieuwjaarsdag driekoningen valentijnsdag
        """
    ),
    calendar=words(
        """
        maandag dinsdag woensdag donderdag vrijdag zaterdag zondag januari februari maart april mei juni juli augustus september
        oktober november december vandaag gisteren morgen week weken maand maanden jaar jaren dag dagen uur uren minuut minuten
        avond ochtend nacht weekend
        """
    ),
    joins=words("en of"),
    dates=Dates(
        months=(
            "jan(?:uari)?",
            "feb(?:ruari)?",
            "maart|mrt",
            "apr(?:il)?",
            "mei",
            "juni?",
            "juli?",
            "aug(?:ustus)?",
            "sept?(?:ember)?",
            "okt(?:ober)?",
            "nov(?:ember)?",
            "dec(?:ember)?",
        ),
        weekdays=(
            "maandag",
            "dinsdag",
            "woensdag",
            "donderdag",
            "vrijdag",
            "zaterdag",
            "zondag",
        ),
        units={
            "day": "dag(?:en)?",
            "week": "week|weken",
            "weekend": "weekend",
            "month": "maand(?:en)?",
            "year": "jaar|jaren",
        },
        near={
            "eergister(?:en)?": 2,
            "gister(?:en)?(?:avond|middag|ochtend|nacht)?": 1,
            "van(?:daag|ochtend|morgen|middag|avond|nacht)": 0,
        },
        numbers=counted("een/één twee drie vier vijf zes zeven acht negen tien elf twaalf"),
        days={
            **counted(
                "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde dertiende veertiende"
                " vijftiende zestiende zeventiende achttiende negentiende twintigste eenentwintigste tweeëntwintigste"
                " drieëntwintigste vierentwintigste vijfentwintigste zesentwintigste zevenentwintigste achtentwintigste"
                " negenentwintigste dertigste eenendertigste"
            ),
            **counted(
                "één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien"
                " achttien negentien twintig eenentwintig tweeëntwintig drieëntwintig vierentwintig vijfentwintig"
                " zesentwintig zevenentwintig achtentwintig negenentwintig dertig eenendertig"
            ),
        },
        date=(
            r"\b{d}(?:e|ste|de)?\s+(?:van\s+)?{month}\b\.?(?:\s+{y}\b)?"
            r"|\b(?:in|sinds|vanaf|tot|van|voor|tijdens|afgelopen|vorige|deze|maand)\s+{month2}\b\.?(?:\s+{y2}\b)?"
            r"|\b{month3}\b\.?\s+{y3}\b"
        ),
        span=(
            r"\b(?:van|van\s+de|tussen|tussen\s+de|vanaf)\s+(?P<d>\d{1,2})(?:e|ste|de)?\s+(?:tot|tot\s+en\s+met|t/m|en)\s+(?:de\s+)?"
            r"(?P<d2>\d{1,2})(?:e|ste|de)?\s+{month}\b\.?(?:\s+{y}\b)?"
            r"|\b(?P<d3>\d{1,2})\s*(?:[-–]|t/m)\s*(?P<d4>\d{1,2})\s+{month2}\b\.?(?:\s+{y2}\b)?"
        ),
        short=(
            r"\b[Oo]p\s+de\s+{d}(?:e|ste|de)\b(?=\s*(?:[,;.!?]|$))|\b[Oo]p\s+{d2}[-/]{m}(?![-/\d])"
        ),
        doubtful_months=frozenset({"jan"}),  # also a name
        seasons=("lente|voorjaar", "zomer", "herfst|najaar", "winter"),
        ordinals={"eerste": 1, "tweede": 2, "derde": 3, "vierde": 4, "laatste": -1},
        parts={"begin": "early", "half|midden|medio": "mid", "einde?": "late"},
        part=r"\b{part}\s+(?:(?:van|in)\s+)?(?:de\s+maand\s+)?{month}\b\.?(?:\s+{y}\b)?",
        nth=(
            r"\b{nth}\s+(?:{unit}|{weekday})\s+(?:(?:van|in)\s+)?(?:de\s+maand\s+)?{month}\b\.?"
            r"(?:\s+{y}\b)?"
        ),
        season=(
            r"\b(?:in|sinds|tijdens|van)\s+(?:de|het)\s+{season}\b(?:\s+(?:van\s+)?{y}\b)?"
            r"|\b{season2}\s+(?:van\s+)?{y2}\b"
        ),
        last_season=r"\b(?:vorige?|afgelopen|verleden|laatste)\s+{season}\b",
        this_season=r"\b(?:deze|dit)\s+{season}\b",
        year=r"\b(?:in|sinds|van|vanaf|tot|uit|jaar|begin|eind)\s+{y}\b(?!-)",
        ago=r"\b{n}\s+{unit}\s+(?:geleden|terug)\b",
        last=r"\b(?:vorige?|afgelopen|verleden|laatste)\s+{unit}\b",
        before_last=r"\b(?:voorlaatste|eervorige?)\s+{unit}\b(?!\s+van\b)",
        this=r"\b(?:deze|dit)\s+{unit}\b",
        weekday=r"\b(?:op|afgelopen|vorige|verleden|laatste|deze)\s+{weekday}\b(?!,?\s+(?:de\s+)?\d|\s+(?:(?:van|in)\s+)?(?:vorige|afgelopen))",
        weekday_of_last_week=(
            r"\b{weekday}\s+(?:(?:van|in)\s+)?(?:de\s+)?(?:vorige|afgelopen)\s+week\b"
            r"|\b(?:vorige|afgelopen)\s+week\s+(?:op\s+)?{weekday2}\b"
        ),
        holidays={
            "carnaval": Holiday(0, -49, 3),
            "aswoensdag": Holiday(0, -46),
            "palmzondag": Holiday(0, -7),
            "goede vrijdag": Holiday(0, -2),
            "eerste paasdag": Holiday(0, 0),
            "tweede paasdag|paasmaandag": Holiday(0, 1),
            "paasweekend": Holiday(0, -2, 4),
            "pasen": Holiday(0, 0, 2),
            "koningsdag": Holiday(4, 27),
            "dodenherdenking": Holiday(5, 4),
            "bevrijdingsdag": Holiday(5, 5),
            "moederdag": Holiday(5, 8, weekday=6),
            "vaderdag": Holiday(6, 15, weekday=6),
            "hemelvaart(?:sdag)?": Holiday(0, 39),
            "tweede pinksterdag": Holiday(0, 50),
            "pinksteren|pinksterweekend": Holiday(0, 49, 2),
            "prinsjesdag": Holiday(9, 15, weekday=1),
            "halloween": Holiday(10, 31),
            "allerheiligen": Holiday(11, 1),
            "sint[ -]?maarten": Holiday(11, 11),
            "sinterklaas(?:avond)?|pakjesavond": Holiday(12, 5),
            "kerstavond": Holiday(12, 24),
            "eerste kerstdag": Holiday(12, 25),
            "tweede kerstdag": Holiday(12, 26),
            "kerst(?:mis)?": Holiday(12, 24, 3),
            "oudejaars(?:avond|dag)|oud en nieuw|oudjaar": Holiday(12, 31),
            "nieuwjaar(?:sdag)?": Holiday(1, 1),
            "driekoningen": Holiday(1, 6),
            "valentijnsdag": Holiday(2, 14),
        },
        holiday=r"\b{holiday}\b(?:\s+(?:van\s+|in\s+)?{y}\b)?",
        before_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+v[oó][oó]r\s+{holiday}\b(?:\s+(?:van\s+|in\s+)?{y}\b)?"
        ),
        after_holiday=r"\b(?:{n}\s+)?{unit}\s+na\s+{holiday}\b(?:\s+(?:van\s+|in\s+)?{y}\b)?",
    ),
    cues={
        Cue.ASKS: (
            r"(?!wat een\b|wat (?:mij|ons|hem|haar) betreft\b|hoe dan ook\b|(?:wat|wie) [^.?!\n]*, (?:is|was|zijn|waren|moet|kan)\b)"
            r"(?:(?:en|maar|dus|hé|hoi|hallo|ok|oké|zeg|nou|sorry)\W+){0,2}"
            rf"(?:(?:(?:aan|met|op|in|van|voor|bij|naar|sinds|tot|over|om|uit|door) )?{_WHAT}"
            rf"|{_FINITE} (?:je|jij|u|hij|ze|zij|we|wij|ik|jullie|er|het|de|dat|dit|die|deze|mijn|jouw|uw|ons|onze|hun|een|iemand|iets)\b"
            r"|(?:geef|toon|zoek|vind|vertel|beschrijf|noem|leg uit|herinner me|laat (?:me|mij) (?:zien|weten))\b)"
        ),
        Cue.POINTS_BACK: (
            r"\b(?:weet je nog|herinner je|herinner me|vorige keer|laatste keer|de vorige keer|laatst|destijds|nog een keer|opnieuw"
            r"|zoals (?:gezegd|afgesproken|besproken)|(?:hebben|hadden) we (?:besloten|besproken|afgesproken)"
            r"|we (?:hebben|hadden) (?:besloten|besproken|afgesproken))\b"
        ),
        Cue.WONDERS: (
            r"\b(?:(?:weet|weten|wist|herinner\w*|vind)\b[^.!?,\n]{0,30}\b(?:niet|geen)|(?:wil|willen|wilde|wou|zou|moet|moeten)\b"
            r"[^.!?,\n]{0,30}\bweten|vraag\w*|vroeg\w*|gevraagd|vergeten|geen idee|onzeker|niet (?:zeker|duidelijk)|benieuwd|vertel\w*"
            rf"|zeg\w*)\b[^.!?\n]{{0,40}}?\b(?:{_WHAT}|of\b)"
        ),
        Cue.INTERROGATIVE: _WHAT,
    },
)
