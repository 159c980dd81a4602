"""German."""

from __future__ import annotations

from typing import Final

from pagefault.language.language import Cue, Dates, Holiday, Language, Script, counted, words

_IN: Final = r"(?:im|seit|ab|bis|vom|zum|anfang|mitte|ende|diesen|letzten|vergangenen)"

GERMAN: Final = Language(
    code="de",
    script=Script.LATIN,
    snowball="german",
    stop_words=words(
        """
        aber alle allem allen aller alles als also am an ander andere anderen anderer anderes auch auf aus bei beide beiden beim
        bin bis bist da dabei dadurch dafür dagegen daher dahin damals damit danach daneben dann daran darauf daraus darf darfst
        darin darüber darum darunter das dass davon davor dazu dein deine deinem deinen deiner dem den denen denn der deren des
        deshalb dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch dürfen ein eine einem einen einer
        eines er es etwas euch euer eure für gegen gibt hab habe haben hast hat hatte hatten hier hin hinter ich ihm ihn ihnen
        ihr ihre ihrem ihren ihrer im in indem ins irgend ist ja jede jedem jeden jeder jedes jemand jetzt kann kannst kein keine
        keinem keinen keiner können könnt könnte könnten man manche mein meine meinem meinen meiner mich mir mit muss musst müssen
        musste nach nachdem nein nicht nichts noch nun nur ob obwohl oder ohne schon sehr sein seine seinem seinen seiner seit
        selbst sich sie sind so sogar solche soll sollen sollte sollten sondern sonst über um und uns unser unsere unserem unseren
        unserer unter viel viele vom von vor während war waren warst warum was weg weil welche welchem welchen welcher welches wem
        wen wenig wenn wer werde werden wie wieder will wir wird wirst wo woher wohin womit worauf woran worin worüber worum wurde
        wurden wäre wären würde würden zu zum zur zwar zwischen wann wieso wessen wieviel hätte hätten
        """
    ),
    fillers=words(
        """
        ach achtet ah allerdings anders bisschen bitte danke dankeschön dinge echt eben eher eigentlich einfach einige einmal
        endlich ende ganz gar geht gehen gemacht genau gerade gern gerne gestern gesagt geworden gleich gut gute guten guter gutes
        hallo halt hey hoffentlich idee immer inzwischen irgendwie kommt kommen klar klingt leider lassen lass liegt machen macht
        mal mehr meist meistens moin morgen na natürlich neulich nie niemand nochmal oh ok okay paar prima rund sache sachen sag
        sagen schade schön schöne schönes sicher sieht sofort soweit später stimmt super tja toll tun überhaupt übrigens ungefähr
        verständlich vielen vielleicht völlig wahrscheinlich warten weiß weiter wenigstens wichtig wirklich wissen wohl zudem
        zuerst zumindest zurück bereits beim darauf davon heute
        """
    ),
    greetings=words("hallo hi hey moin servus ja nein ok okay danke klar"),
    irregular="""
        gehen: ging gingen gegangen
        sein: gewesen
        bringen: brachte brachten gebracht
        denken: dachte dachten gedacht
        essen: aß aßen gegessen
        fahren: fuhr fuhren gefahren fährt
        finden: fand fanden gefunden
        fliegen: flog flogen geflogen
        geben: gab gaben gegeben
        gewinnen: gewann gewonnen
        helfen: half halfen geholfen hilft
        kommen: kam kamen gekommen
        lassen: ließ ließen gelassen
        laufen: lief liefen gelaufen läuft
        lesen: las lasen gelesen liest
        nehmen: nahm nahmen genommen nimmt
        schreiben: schrieb schrieben geschrieben
        sehen: sah sahen gesehen sieht
        sprechen: sprach sprachen gesprochen spricht
        steigen: stieg stiegen gestiegen
        stehen: stand standen gestanden
        treffen: traf trafen getroffen trifft
        trinken: trank tranken getrunken
        tragen: trug trugen getragen
        verlieren: verlor verloren
        vergessen: vergaß vergisst
        werfen: warf warfen geworfen
        wissen: wusste wussten gewusst
        ziehen: zog zogen gezogen
    """,
    opposites=words("nicht nichts kein keine keinen keinem keiner nie niemals niemand ohne"),
    times=words(
        """
        gestern heute morgen vorgestern neulich kürzlich letzte letzten letzter letztes nächste nächsten nächster woche wochenende
        monat jahr seit montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar februar märz april mai juni
        juli august september oktober november dezember
        """
    ),
    numbers=words(
        "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert dutzend einmal zweimal"
    ),
    anything=words(
        """
        passieren passiert geschehen geschah geschieht besprechen besprochen reden geredet sagen gesagt erzählen erzählt sprechen
        gesprochen machen gemacht tun getan los neues etwas alles beschließen beschlossen entscheiden entschieden letzte letzter
        letzten letztes vergangene vergangenen vergangener tag tage tagen woche wochen wochenende monat monate monaten jahr jahre
        jahren gestern vorgestern heute vor zwei drei vier fünf sechs januar februar märz april mai juni juli august september
        oktober november dezember montag dienstag mittwoch donnerstag freitag samstag sonntag erste erster ersten zweite zweiten
        dritte dritten vierte vierten anfang beginn mitte ende frühling frühjahr sommer herbst winter
        januarwochenende februarwochenende märzwochenende aprilwochenende maiwochenende juniwochenende
        juliwochenende augustwochenende septemberwochenende oktoberwochenende novemberwochenende dezemberwochenende
        rosenmontag fasching karneval fastnacht aschermittwoch palmsonntag karwoche karfreitag ostersonntag ostermontag ostern
        osterwochenende christi himmelfahrt pfingsten pfingstwochenende fronleichnam silvester neujahr dreikönige valentinstag
        allerheiligen halloween nikolaus heiligabend weihnachten
        """
    ),
    calendar=words(
        """
        montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar februar märz april mai juni juli august
        september oktober november dezember heute morgen gestern woche wochen monat monate monaten jahr jahre jahren tag tage tagen
        stunde stunden minute minuten abend nacht wochenende
        """
    ),
    joins=words("und oder sowie"),
    dates=Dates(
        months=(
            "jan(?:uar)?|jänner",
            "feb(?:ruar)?|feber",
            "märz|mrz",
            "apr(?:il)?",
            "mai",
            "juni?",
            "juli?",
            "aug(?:ust)?",
            "sept?(?:ember)?",
            "okt(?:ober)?",
            "nov(?:ember)?",
            "dez(?:ember)?",
        ),
        weekdays=(
            "montag",
            "dienstag",
            "mittwoch",
            "donnerstag",
            "freitag",
            "samstag|sonnabend",
            "sonntag",
        ),
        units={
            "day": "tag(?:en?)?",
            "week": "wochen?",
            "weekend": "wochenende",
            "month": "monat(?:en?|s)?",
            "year": "jahr(?:en?|es)?",
        },
        near={"vorgestern": 2, "gestern": 1, "heute": 0},
        numbers=counted(
            "ein/einem/einer zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
        ),
        date=(
            rf"\b{{d}}\.\s*{{month}}\b\.?(?:\s+{{y}}\b)?"
            rf"|\b{_IN}\s+{{month2}}\b\.?(?:\s+{{y2}}\b)?|\b{{month3}}\b\.?\s+{{y3}}\b"
        ),
        span=(
            r"\b(?P<d>\d{1,2})\.?\s*(?:-|–|bis(?:\s+zum)?)\s*(?P<d2>\d{1,2})\.\s*{month}\b\.?(?:\s+{y}\b)?"
            r"|\bzwischen\s+(?:dem\s+)?(?P<d3>\d{1,2})\.\s+und\s+(?:dem\s+)?(?P<d4>\d{1,2})\.\s*{month2}\b\.?(?:\s+{y2}\b)?"
        ),
        short=(
            r"\b(?:[Aa]m|[Vv]om|[Zz]um|[Bb]is|[Ss]eit|[Aa]b|[Dd]en|(?:\w{3,7}tag|Mittwoch|Sonnabend),?)\s+{d}\.\s?{m}(?:\.(?!\s?\d)|(?![.\d]))"
            r"|\b[Aa]m\s+{d2}\.(?=\s*[,?!]|\s*$|\s+[a-zäöü])"
            r"(?!\s+(?i:und\b|oder\b|bis\b|jan|jän|feb|mär|mrz|apr|mai|jun|jul|aug|sep|okt|nov|dez))"
        ),
        seasons=("frühling|frühjahr", "sommer", "herbst", "winter"),
        ordinals={
            "erste[nrsm]?": 1,
            "zweite[nrsm]?": 2,
            "dritte[nrsm]?": 3,
            "vierte[nrsm]?": 4,
            "letzte[nrsm]?": -1,
        },
        parts={"anfang|beginn": "early", "mitte": "mid", "ende": "late"},
        part=r"\b{part}\s+(?:des\s+)?{month}s?\b\.?(?:\s+{y}\b)?",
        nth=(
            r"\b{nth}\s+(?:{unit}|{weekday})\s+(?:(?:im|des|vom|in|von)\s+)?{month}s?\b\.?(?:\s+{y}\b)?"
            r"|\b{nth2}\s+{month2}(?:{unit2}|{weekday2})\b(?:\s+{y2}\b)?"
        ),
        season=r"\b(?:im|seit|vom)\s+{season}\b(?:\s+{y}\b)?|\b{season2}\s+{y2}\b",
        last_season=r"\b(?:letzte[nrsm]?|vergangene[nrsm]?|vorige[nrsm]?)\s+{season}\b",
        this_season=r"\bdiese[nrsm]?\s+{season}\b",
        year=r"\b(?:in|seit|von|ab|bis|jahre?|anfang|ende)\s+{y}\b(?!-)",
        ago=r"\bvor\s+{n}\s+{unit}\b",
        last=r"\b(?:letzte[nrsm]?|vergangene[nrsm]?|vorige[nrsm]?)\s+{unit}\b",
        before_last=r"\bvorletzte[nrsm]?\s+{unit}\b",
        this=r"\bdiese[nrsm]?\s+{unit}\b",
        weekday=(
            r"\b(?:letzte[nrm]?|vergangene[nrm]?|vorige[nrm]?|am|diese[nrm]?)\s+{weekday}\b"
            r"(?!,?\s+(?:de[mn]\s+)?\d{1,2}\.)"  # of a date
        ),
        holidays={
            "rosenmontag": Holiday(0, -48),
            "fasching|karneval|fastnacht": Holiday(0, -52, 6),
            "aschermittwoch": Holiday(0, -46),
            "palmsonntag": Holiday(0, -7),
            "karwoche": Holiday(0, -6, 6),
            "karfreitag": Holiday(0, -2),
            "ostersonntag": Holiday(0, 0),
            "ostermontag": Holiday(0, 1),
            "ostern|osterwochenende": Holiday(0, -2, 4),
            "(?:christi )?himmelfahrt": Holiday(0, 39),
            "pfingsten|pfingstwochenende": Holiday(0, 49, 2),
            "fronleichnam": Holiday(0, 60),
            "silvester": Holiday(12, 31),
            "neujahr": Holiday(1, 1),
            "dreikönig(?:e|stag)?|heilige drei könige": Holiday(1, 6),
            "valentinstag": Holiday(2, 14),
            "allerheiligen": Holiday(11, 1),
            "halloween": Holiday(10, 31),
            "nikolaus(?:tag)?": Holiday(12, 6),
            "heilig(?:abend|er abend|en abend)": Holiday(12, 24),
            "weihnachten|weihnachtstage?n?": Holiday(12, 24, 3),
        },
        holiday=r"\b{holiday}\b(?:\s+{y}\b)?",
        before_holiday=r"\b(?:{n}\s+)?{unit}\s+vor\s+(?:dem\s+)?{holiday}\b(?:\s+{y}\b)?",
        after_holiday=r"\b(?:{n}\s+)?{unit}\s+nach\s+(?:dem\s+)?{holiday}\b(?:\s+{y}\b)?",
    ),
    cues={
        Cue.ASKS: (
            r"(?!was [^.?!\n]*, (?:ist|war|sind)\b)(?:(?:und|also|aber|ok|okay|hey|hallo|na|ach|du|sag mal)\W+){0,2}"
            r"(?:(?:ab|an|auf|aus|bei|bis|für|in|mit|nach|seit|über|um|von|vor|zu) (?:welche[mnrs]?|wen|wem|was|wann|wie)"
            r"|wer|wen|wem|wessen|was|welche[mnrs]?|wann|wo|wohin|woher|warum|wieso|weshalb|wie|wo(?:mit|von|für|rauf|ran|rin"
            r"|rüber|rum|durch|zu)|ist|sind|war|waren|hat|haben|hatten?|kannst|kann|können|könntest|könnte|könnten|soll(?:en|te|ten)?"
            r"|darf|dürfen|muss|müssen|gibt es|weißt du|zeig|zeige|such|suche|finde|erkläre?|beschreibe?|erinnere?|nenne?|sag mir"
            r"|fasse?)\b"
        ),
        Cue.POINTS_BACK: (
            r"\b(?:erinnerst du|erinnere mich|weißt du noch|damals|vorhin|früher|neulich|letztes mal|nochmal|noch einmal"
            r"|wie (?:gesagt|besprochen|vereinbart)|(?:haben )?wir (?:beschlossen|besprochen|vereinbart|entschieden))\b"
        ),
        Cue.WONDERS: (
            r"\b(?:(?:weiß|weiss|wusste|erinner\w*|finde)\b[^.!?,\n]{0,30}\b(?:nicht|nimmer|kein\w*)"
            r"|(?:will|wollen|wollte|möchte\w*|würde\w*|muss|müsste\w*|müssen)\b[^.!?,\n]{0,40}\b(?:wissen|erfahren|hören|nachsehen)"
            r"|wissen (?:will|wollen|möchte\w*|muss)|wüsste\w*|frag(?:e|t|en|st|te|ten)|gefragt|vergessen|entfallen|(?:keine|null) ahnung|unsicher"
            r"|nicht (?:mehr )?(?:sicher|klar)|unklar|(?:sag|schreib|erzähl|verrat)\w* (?:mir|uns|ihm|ihr|ihnen|dem|der|meine[mr]|unsere[mr])|interessier\w*"
            r"|neugierig)\b[^.!?\n]{0,40}?\b(?:wer|wen|wem|wessen|was|welche[mnrs]?|wann|wo|wohin|woher|warum|wieso|weshalb|wie(?:viele?)?"
            r"|wo(?:mit|von|für|rauf|ran|rin|rüber|rum|durch|zu)|ob)\b"
            r"|\b(?:brauch(?:e|t|en)|bräuchte\w*|will|möchte) (?:noch |nochmal )?(?:den|die|das|unsere?n?)\b"
            r"|\bfällt\b[^.!?,\n]{0,30}\b(?:der|die|das)\b[^.!?,\n]{0,40}\bnicht (?:mehr )?ein\b"
            r"|\bk(?:ann|önnen|onnte\w*)\b[^.!?,\n]{0,20}\bnicht (?:mehr |genau )?an (?:den|die|das|dessen|deren|unsere?n?)\b"
            r"[^.!?,\n]{0,40}\berinnern\b(?!,)"
        ),
        Cue.WHEN: (
            r"(?:wann|seit wann|bis wann|ab wann|wie lange|(?:(?:in|an|am|seit|bis|ab) )?welche[mnrs]? "
            r"(?:jahr|monat|woche|tag|datum|zeit|uhrzeit))\b"
        ),
        Cue.HOW_MANY: r"\bwie ?(?:viele?[nr]?|oft|alt|lang|lange|weit|groß|hoch|teuer|schwer)\b|\bwas kostet",
        Cue.WHO_OR_WHERE: r"(?:(?:bei|mit|von|an|zu|für) )?(?:wer|wen|wem|wessen|wo|wohin|woher|welche[mnrs]?)\b",
        Cue.JOINTLY: r"\b(?:beide[nr]?|zusammen|gemeinsam|miteinander)\b",
        Cue.INTERROGATIVE: (
            r"(?:wer|wen|wem|wessen|was|welche[mnrs]?|wann|wo|wohin|woher|warum|wieso|weshalb|wie)\b"
        ),
        Cue.INVERTED: (
            r"(?:ist|sind|war|waren|hat|haben|hatte|hatten|kann|können|soll|sollen|muss|müssen|wird|werden|darf|dürfen)\s+"
            r"(?:ich|wir|du|ihr|er|sie|es|das|der|die|den|mein\w*|unser\w*|dein\w*|sein\w*|ihr\w*)\b"
        ),
        Cue.TELL_ME: r"(?:sag|sage|zeig|zeige|erzähl|erzähle|nenn|nenne)\s+mir\b",
        Cue.LEADS_IN: r"bitte|und|auch|also",
        Cue.JOINS_CLAUSES: r"(?:und|oder|aber)\s+(?:auch\s+|dann\s+)?",
        Cue.PERSON: r"\b(?:er|ihm|ihn|ihnen|sie)\b",
        Cue.RECALLS: (
            r"\b(?:was|wer|wann|wo|warum|wie|welche\w*)\b[^.!?\n]{0,80}\b(?:haben|hatten|habe|hatte|hast)\b[^.!?\n]{0,40}"
            r"\b(?:wir|du|ich)\b[^.!?\n]{0,60}\b(?:gesagt|erzählt|beschlossen|entschieden|besprochen|erwähnt|ausgemacht|gewählt"
            r"|vereinbart)\b|\b(?:erinnerst du dich|weißt du noch)\b[^.!\n]{0,120}\?|\berinnere? mich\b"
        ),
        Cue.CORRECTS: (
            r"^\W*nein\b\W+(?:das|es|ich|wir|du|nicht|falsch)\b|^\W*das (?:ist|war|stimmt)(?: \w+)? (?:falsch|nicht)\b"
            r"|^\W*falsch\b|^\W*(?:ich|wir) (?:habe|haben) (?:doch )?(?:nie )?(?:gesagt|beschlossen)\b"
        ),
        Cue.DECISION: (
            r"\b(?:(?:habe|haben|hat) (?:\S+ ){0,6}(?:beschlossen|entschieden|vereinbart)|beschlossen|ab sofort|wir nehmen"
            r"|wir (?:verwenden|benutzen) (?:ab|künftig|jetzt)|umzusteigen|statt dessen|stattdessen)\b"
        ),
        Cue.PREFERENCE: r"\b(?:ich bevorzuge|mag ich (?:nicht|lieber)|am liebsten|allergisch|verträgt kein\w*)\b",
        Cue.FACT: r"\b(?:denk daran|wohnt in|arbeitet (?:bei|als)|heißt|Frist)\b",
        Cue.TURNING: r"\b(?:doch nicht|stattdessen|widerrufen|zurückgenommen|abgesagt|doch lieber)\b",
        Cue.NEGATION: r"\b(?:nicht|kein(?:e[nmrs]?|esfalls|eswegs)?|niemals)\b",
        Cue.TIME: (
            r"\b(?:gestern|heute|vorgestern|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?|januar"
            r"|februar|märz|mai|juni|juli|oktober|dezember|wochenende|wochen?|monate?n?|jahre?n?)\b"
        ),
        Cue.SPEAKER: r"\b(?:ich|Ich|mein(?:e[mnrs]?)?|Mein(?:e[mnrs]?)?|wir|Wir|unser(?:e[mnrs]?)?|uns)\b",
        Cue.ABBREVIATION: (
            r"Hr|bzw|usw|evtl|ggf|inkl|Nr|Str|z\.\s?B|d\.\s?h|u\.\s?a"
            r"|(?:[Bb]eim|[Dd](?:as|e[mnr])|[Vv]om|[Zz]u[mr]) \d{1,2}"  # not "am", as in "I am 3."
        ),
        Cue.AFTER_ORDINAL: (
            r"(?:Jan(?:uar)?|Jänner|Feb(?:ruar)?|März|Mrz|Apr(?:il)?|Mai|Juni?|Juli?|Aug(?:ust)?"
            r"|Sept?(?:ember)?|Okt(?:ober)?|Nov(?:ember)?|Dez(?:ember)?|(?:und|oder|bis) \d{1,2}\.)(?!\w)(?! (?:is|has)\b)"  # not "Anna is 12. April is 10."
        ),
        Cue.DATE: (
            r"\b\d{1,2}\. (?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)(?: \d{4})?\b"
        ),
        Cue.COURTESY: (
            r"(?:vielen |herzlichen |tausend )?dank(?:e(?:schön)?)?(?: (?:schön|sehr|dir|ihnen|euch|nochmal))?"
            r"|(?:guten (?:morgen|tag|abend)|hallo|moin|servus|tschüss|bis (?:bald|dann|später)|schönen (?:tag|abend)(?: noch)?)"
        ),
    },
)
