"""Italian."""

from __future__ import annotations

from typing import Final

from pagefault.language.language import Dates, Holiday, Language, Script, counted, words

ITALIAN: Final = Language(
    code="it",
    script=Script.LATIN,
    snowball="italian",
    stop_words=words(
        """
        alla alle allo agli anche ancora che chi ci come con cosa cui da dal dalla dei del della delle dello degli di dove due e è era
        erano essere fa gli ha hai hanno ho il in io la le lei lo loro lui ma mi mia mio miei molto ne nel nella nelle negli noi non
        nostro nostra o per perché però più poi quale quando quanto quella quelle quello questa queste questi questo quindi sei senza
        si sia siamo sono sua sue sul sulla suo suoi ti tra tu tua tuo tutti tutto un una uno vi voi già dopo prima stato stata
        """
    ),
    elisions=words("l d un c s m t v n dell nell all dall sull quell quest"),
    opposites=words("non mai senza nessuno nessuna niente"),
    times=words(
        """
        ieri oggi domani dopodomani avantieri stamattina stasera stanotte scorso scorsa passato passata prossimo prossima settimana
        mese anno weekend fa lunedì martedì mercoledì giovedì venerdì sabato domenica gennaio febbraio marzo aprile maggio giugno
        luglio agosto settembre ottobre novembre dicembre
        """
    ),
    numbers=words(
        "due tre quattro cinque sei sette otto nove dieci undici dodici quindici venti trenta quaranta cinquanta cento mille dozzina"
    ),
    anything=words(
        """
        succedere successo succede accadere accaduto parlare parlato dire detto raccontare raccontato fare fatto decidere deciso
        discutere discusso nuovo qualcosa scorso scorsa passato passata giorno giorni settimana settimane mese mesi anno anni fine
        weekend ieri oggi lunedì martedì mercoledì giovedì venerdì sabato domenica gennaio febbraio marzo aprile maggio giugno
        luglio agosto settembre ottobre novembre dicembre due tre quattro cinque sei primo prima secondo seconda terzo terza quarto
        quarta ultimo ultima penultimo penultima inizio inizi metà primavera estate autunno inverno carnevale ceneri palme santo
        santa pasqua pasquetta pentecoste capodanno silvestro epifania befana valentino ferragosto ognissanti immacolata vigilia
        natale stefano
        """
    ),
    calendar=words(
        """
        lunedì martedì mercoledì giovedì venerdì sabato domenica gennaio febbraio marzo aprile maggio giugno luglio agosto
        settembre ottobre novembre dicembre oggi ieri domani settimana settimane mese mesi anno anni giorno giorni ora ore minuto
        minuti sera mattina notte weekend
        """
    ),
    joins=words("e ed o"),
    dates=Dates(
        months=(
            "genn?(?:aio)?",
            "feb(?:braio)?",
            "mar(?:zo)?",
            "apr(?:ile)?",
            "mag(?:gio)?",
            "giu(?:gno)?",
            "lug(?:lio)?",
            "ago(?:sto)?",
            "sett?(?:embre)?",
            "ott(?:obre)?",
            "nov(?:embre)?",
            "dic(?:embre)?",
        ),
        weekdays=(
            "luned[iì]",
            "marted[iì]",
            "mercoled[iì]",
            "gioved[iì]",
            "venerd[iì]",
            "sabato",
            "domenica",
        ),
        units={
            "day": "giorn[oi]",
            "week": "settiman[ae]",
            "weekend": "fine[ -]?settimana|week-?end",
            "month": "mes[ei]",
            "year": "ann[oi]",
        },
        near={
            "altro ?ieri|ieri l['’]altro|avantieri": 2,
            "ieri": 1,
            "oggi|stamattina|stamani|stasera|stanotte": 0,
        },
        numbers=counted(
            "un/uno/una due tre quattro cinque sei sette otto nove dieci undici dodici"
        ),
        days={
            "primo": 1,
            **counted(
                "uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici"
                " diciassette diciotto diciannove venti ventuno ventidue ventitr[eé] ventiquattro venticinque ventisei"
                " ventisette ventotto ventinove trenta trentuno"
            ),
        },
        date=(
            r"\b{d}[°º]?(?:\s+(?:di\s+)?|[-/]){month}\b\.?(?:\s+(?:del\s+)?{y}\b)?"
            r"|\b(?:in|ad?|da|di|per|tra|fra|entro|durante|scorso|questo)\s+{month2}\b\.?(?:\s+(?:del\s+)?{y2}\b)?"
            r"|\b{month3}\b\.?\s+(?:del\s+)?{y3}\b"
        ),
        span=(
            r"\b(?:da|dal|dall['’]|tra|tra\s+il|fra|fra\s+il)\s*(?P<d>\d{1,2})\s+(?:al?|e|e\s+il|all['’])\s*(?P<d2>\d{1,2})\s+(?:di\s+)?{month}\b\.?"
            r"(?:\s+(?:del\s+)?{y}\b)?|\b(?P<d3>\d{1,2})\s*[-–]\s*(?P<d4>\d{1,2})\s+{month2}\b\.?(?:\s+(?:del\s+)?{y2}\b)?"
        ),
        short=r"\b[Ii]l\s+{d}(?=\s*(?:[,;.!?](?!\d)|$))|\b[Ii]l\s+{d2}/{m}(?![/\d])",
        doubtful_months=frozenset({"mar", "ago"}),  # the sea, a needle
        seasons=("primavera", "estate", "autunno", "inverno"),
        ordinals={
            "prim[oa]|1[°ºª]": 1,
            "second[oa]|2[°ºª]": 2,
            "terz[oa]|3[°ºª]": 3,
            "quart[oa]|4[°ºª]": 4,
            "ultim[oa]": -1,
        },
        parts={"primi(?: giorni)?|inizio?|principio": "early", "metà": "mid", "fine": "late"},
        part=(
            r"\b{part}\s+(?:(?:di|del|dello)\s+)?(?:mese\s+di\s+)?{month}\b\.?(?:\s+(?:del\s+)?{y}\b)?"
        ),
        nth=(
            r"\b{nth}\s+(?:{unit}|{weekday})\s+(?:di|del|in|d['’])\s*(?:mese\s+di\s+)?{month}\b\.?"
            r"(?:\s+(?:del\s+)?{y}\b)?"
        ),
        season=(
            r"\b(?:in|d['’]|durante\s+la|durante\s+l['’]|nell['’]|nella|dall['’]|dalla)\s*{season}\b"
            r"(?!\s+(?:scors|passat))(?:\s+(?:del\s+)?{y}\b)?|\b{season2}\s+(?:del\s+)?{y2}\b"
        ),
        last_season=(
            r"\b{season}\s+(?:scors[oa]|passat[oa])\b|\b(?:scors[oa]|passat[oa]|ultim[oa])\s+{season2}\b"
        ),
        this_season=r"\bquest(?:[oa]\s+|['’]\s*){season}\b(?!\s+(?:scors|passat))",
        year=r"\b(?:nel|del|dal|al|anno|durante\s+il)\s+{y}\b(?!-)",
        ago=r"\b{n}\s+{unit}\s+(?:fa|or\s+sono)\b",
        last=(
            r"\b{unit}\s+(?:scors[oa]|passat[oa]|precedente)\b|\b(?:scors[oa]|passat[oa]|ultim[oa])\s+{unit2}\b"
        ),
        before_last=r"\bpenultim[oa]\s+{unit}\b(?!\s+(?:di|del)\b)",
        this=r"\bquest(?:[oa]\s+|['’]\s*){unit}\b(?!\s+(?:scors|passat))",
        # A weekday alone is one day: "il lunedì" is every Monday.
        weekday=(
            r"\b{weekday}\s+(?:scors[oa]|passat[oa])\b"
            r"|(?<!\bil )(?<!\bal )(?<!\bdi )(?<!\bogni )(?<!\bla )(?<!\balla )(?<!\bprossim[oa] )"
            r"\b{weekday2}\b(?!\s+(?:prossim|\d|dell))"
        ),
        weekday_of_last_week=r"\b{weekday}\s+della\s+(?:settimana\s+scorsa|scorsa\s+settimana)\b",
        holidays={
            "marted[iì] grasso": Holiday(0, -47),
            "carnevale": Holiday(0, -52, 6),
            "mercoled[iì] delle ceneri": Holiday(0, -46),
            "domenica delle palme": Holiday(0, -7),
            "settimana santa": Holiday(0, -6, 7),
            "gioved[iì] santo": Holiday(0, -3),
            "venerd[iì] santo": Holiday(0, -2),
            "pasquetta|luned[iì] dell['’]angelo": Holiday(0, 1),
            "(?:domenica di )?pasqua": Holiday(0, 0),
            "pentecoste": Holiday(0, 49),
            "corpus domini": Holiday(0, 60),
            "vigilia di capodanno|san silvestro": Holiday(12, 31),
            "capodanno": Holiday(1, 1),
            "epifania|befana": Holiday(1, 6),
            "san valentino|festa degli innamorati": Holiday(2, 14),
            "san giuseppe|festa del papà": Holiday(3, 19),
            "(?:festa|anniversario) della liberazione": Holiday(4, 25),
            "festa de(?:l lavoro|i lavoratori)": Holiday(5, 1),
            "festa della mamma": Holiday(5, 8, weekday=6),
            "festa della repubblica": Holiday(6, 2),
            "ferragosto": Holiday(8, 15),
            "halloween": Holiday(10, 31),
            "ognissanti|tutti i santi": Holiday(11, 1),
            "giorno dei morti": Holiday(11, 2),
            "immacolata(?: concezione)?": Holiday(12, 8),
            "vigilia di natale": Holiday(12, 24),
            "santo stefano": Holiday(12, 26),
            "natale": Holiday(12, 24, 3),
        },
        holiday=r"\b(?<!città )(?<!paese ){holiday}\b(?:\s+(?:del\s+)?{y}\b)?",
        before_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+prima\s+(?:di|della?|dell['’])\s*{holiday}\b(?:\s+(?:del\s+)?{y}\b)?"
        ),
        after_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+dopo\s+(?:il\s+|la\s+|l['’]\s*)?{holiday}\b(?:\s+(?:del\s+)?{y}\b)?"
        ),
    ),
)
