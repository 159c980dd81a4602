"""Spanish."""

from __future__ import annotations

from typing import Final

from pagefault.language.language import Cue, Dates, Holiday, Language, Script, counted, words

_WHAT: Final = r"(?:qué|que|quién(?:es)?|cuál(?:es)?|cuándo|dónde|adónde|cómo|cuánt[oa]s?|por qué)"

SPANISH: Final = Language(
    code="es",
    script=Script.LATIN,
    snowball="spanish",
    stop_words=words(
        """
        a al algo alguien alguna algunas alguno algunos algún ante antes aquel aquella aquello aquí así aún aunque bajo cada casi
        como con contra cosas cual cuando cuanto de del desde donde dos durante e el él ella ellas ellos en entre era eran eres es
        esa esas ese eso esos esta está están estaba estaban estar estas este esto estos estoy fue fueron ha había habían haber han
        has hasta hay he hemos la las le les lo los más me mi mí mientras mis mucha muchas mucho muchos muy nada ni no nos
        nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero poco por porque pues que qué quien quién
        quienes se sea según ser si sí siempre sido sin sino sobre sois somos son soy su sus también tampoco tan tanto te tendrá
        tenemos tener tengo ti tiene tienen todo todos toda todas tu tú tus tuvo un una unas uno unos usted ustedes va vais vamos
        van vosotros vuestro y ya yo cuál cuáles cuándo cuánto cuántos cuánta cuántas dónde adónde cómo
        """
    ),
    fillers=words(
        """
        ahora además ah al algo anotado aparte asunto ayer bien buen buena bueno buenas buenos claro cosa creo cuidado cuenta dar
        decir dice dicho después día días dijo encanta entonces espero exacto final general genial gracias gusta hace hacer haces
        hacía haga hizo hola hoy igual imagino justo lado luego mañana mejor menos mismo misma momento nueva nuevo nunca otra par
        parece pasa pasado perfecto poder puede pueden puedo primero principios probablemente pronto quiere quiero quizá quizás
        razonable saber sé seguro tal tarde tema tiempo todavía toca tomar tres usar vale vaya verdad ver vez veces voy próximo
        """
    ),
    greetings=words("hola sí no vale gracias genial"),
    irregular="""
        andar: anduvo
        caer: cayó
        decir: dijo dice dicho digo dijeron dijimos
        dormir: duerme durmió
        hacer: hizo hecho hace hago haremos harán hará hicimos hicieron
        ir: fui va voy vamos iremos
        morir: murió muerto
        pedir: pidió piden pide pidieron
        perder: pierde pierden
        poder: pudo puede pueden puedo
        poner: puso puesto pone pongo pusieron
        querer: quiso quiere quieren quiero
        saber: supo
        seguir: sigue siguió
        tener: tuvo tiene tienen tengo
        traer: trajo trae
        venir: vino viene vienen
        ver: visto vio vimos
        volver: vuelto vuelve vuelven
        escribir: escrito
        abrir: abierto
        romper: roto
    """,
    opposites=words("ningun ninguno ninguna nunca jamas sin nada nadie"),
    times=words(
        """
        ayer hoy mañana anteayer anoche recientemente pasado pasada próximo próxima semana mes año desde lunes martes miércoles
        jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
        """
    ),
    numbers=words(
        "dos tres cuatro cinco seis siete ocho nueve diez once doce quince veinte treinta cuarenta cincuenta cien mil docena"
    ),
    anything=words(
        """
        pasar pasó pasa ocurrir ocurrió hablar hablamos hablar decir dijo dijimos contar hacer hicimos acordar acordamos decidir
        decidimos nuevo algo pasado pasada día días semana semanas mes meses año años fin ayer anteayer hoy lunes martes miércoles
        jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre dos
        tres cuatro cinco seis primer primero primera segundo segunda tercer tercero tercera cuarto cuarta último última
        principio principios comienzo comienzos mediados final finales primavera verano otoño invierno
        carnaval ramos santa santo pascua pentecostés nochevieja reyes valentín halloween todos santos nochebuena navidad
        navidades finde
        """
    ),
    calendar=words(
        """
        lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre
        noviembre diciembre hoy ayer mañana semana semanas mes meses año años día días hora horas minuto minutos noche tarde tardes
        """
    ),
    joins=words("y e o u"),
    dates=Dates(
        months=(
            "ene(?:ro)?",
            "feb(?:rero)?",
            "mar(?:zo)?",
            "abr(?:il)?",
            "mayo",
            "jun(?:io)?",
            "jul(?:io)?",
            "ago(?:sto)?",
            "sept?(?:iembre)?|set(?:iembre)?",
            "oct(?:ubre)?",
            "nov(?:iembre)?",
            "dic(?:iembre)?",
        ),
        weekdays=("lunes", "martes", "mi[ée]rcoles", "jueves", "viernes", "s[áa]bado", "domingo"),
        units={
            "day": "d[ií]as?",
            "week": "semanas?",
            "weekend": "fin de semana|finde",
            "month": "mes(?:es)?",
            "year": "años?",
        },
        near={"anteayer": 2, "ayer": 1, "anoche": 1, "hoy": 0, "esta noche": 0},
        numbers=counted("un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce"),
        date=(
            r"\b{d}\s+de\s+{month}\b\.?(?:\s+(?:de\s+|del\s+)?{y}\b)?"
            r"|\b(?:en|desde|de|hasta|este|pasado|durante|para|hacia)\s+{month2}\b\.?(?:\s+(?:de\s+|del\s+)?{y2}\b)?"
            r"|\b{month3}\b\.?\s+(?:de\s+|del\s+)?{y3}\b"
        ),
        span=(
            r"\b(?:del?\s+)?(?P<d>\d{1,2})\s*(?:al?|-|–|hasta\s+el)\s*(?P<d2>\d{1,2})\s+de\s+{month}\b\.?(?:\s+(?:de\s+|del\s+)?{y}\b)?"
            r"|\bentre\s+el\s+(?P<d3>\d{1,2})\s+y\s+el\s+(?P<d4>\d{1,2})\s+de\s+{month2}\b\.?(?:\s+(?:de\s+|del\s+)?{y2}\b)?"
        ),
        short=r"\b[Ee]l\s+(?:día\s+)?{d}(?=\s*(?:[,;.!?](?!\d)|$))",
        holidays={
            "carnavales|carnaval": Holiday(0, -52, 6),
            "domingo de ramos": Holiday(0, -7),
            "semana santa": Holiday(0, -6, 7),
            "jueves santo": Holiday(0, -3),
            "viernes santo": Holiday(0, -2),
            "lunes de pascua": Holiday(0, 1),
            "(?:domingo de )?pascua": Holiday(0, 0),
            "pentecost[ée]s": Holiday(0, 49, 2),
            "nochevieja": Holiday(12, 31),
            "año nuevo": Holiday(1, 1),
            "(?:d[ií]a de |noche de )?reyes(?: magos)?": Holiday(1, 6),
            "san valent[ií]n": Holiday(2, 14),
            "halloween": Holiday(10, 31),
            "todos los santos": Holiday(11, 1),
            "nochebuena": Holiday(12, 24),
            "navidad(?:es)?": Holiday(12, 24, 3),
        },
        holiday=(
            r"\b(?!reyes\b){holiday}\b(?:\s+(?:de\s+|del\s+)?{y}\b)?"
            r"|\b(?:en|por|desde|hasta)\s+{holiday2}\b(?:\s+(?:de\s+|del\s+)?{y2}\b)?"
        ),
        before_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+antes\s+de(?:l|\s+la|\s+los)?\s+{holiday}\b(?:\s+(?:de\s+|del\s+)?{y}\b)?"
        ),
        after_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+después\s+de(?:l|\s+la|\s+los)?\s+{holiday}\b(?:\s+(?:de\s+|del\s+)?{y}\b)?"
        ),
        doubtful_months=frozenset({"mar", "set"}),  # the sea: a month only with a day or a year
        seasons=("primavera", "verano", "otoño", "invierno"),
        ordinals={
            "primer[oa]?": 1,
            "segund[oa]": 2,
            "tercer[oa]?": 3,
            "cuart[oa]": 4,
            "últim[oa]": -1,
        },
        parts={
            "principios?|comienzos?|inicios?": "early",
            "mediados": "mid",
            "fin(?:al)?(?:es)?": "late",
        },
        part=r"\b{part}\s+del?\s+(?:mes\s+de\s+)?{month}\b\.?(?:\s+(?:del?\s+)?{y}\b)?",
        nth=(
            r"\b{nth}\s+(?:{unit}|{weekday})\s+del?\s+(?:mes\s+de\s+)?{month}\b\.?"
            r"(?:\s+(?:del?\s+)?{y}\b)?"
        ),
        season=(
            r"\b(?:en|durante|desde)\s+(?:el\s+|la\s+)?{season}\b(?!\s+pasad)"
            r"(?:\s+(?:del?\s+)?{y}\b)?|\b{season2}\s+del?\s+{y2}\b"
        ),
        last_season=r"\b{season}\s+pasad[oa]\b|\b(?:pasad[oa]|últim[oa])\s+{season2}\b",
        this_season=r"\best[ea]\s+{season}\b(?!\s+pasad)",
        year=(
            r"\b(?<!más\s)(?<!menos\s)(?<!cerca\s)(?:en|de|desde|durante|del)\s+{y}\b"
            r"(?!-|\s+(?:euros|pesos|personas|metros|palabras|veces)\b)"
        ),
        ago=r"\bhace\s+{n}\s+{unit}\b",
        last=r"\b{unit}\s+(?:pasad[oa]|anterior)\b|\bpasad[oa]\s+{unit2}\b|\búltim[oa]\s+{unit3}\b",
        before_last=r"\bpenúltim[oa]\s+{unit}\b(?!\s+del?\b)|\b{unit2}\s+antepasad[oa]\b",
        this=r"\best[ea]\s+{unit}\b(?!\s+pasad)",
        weekday=r"\b{weekday}\s+pasado\b|\b(?:el|este|pasado)\s+{weekday2}\b",
    ),
    cues={
        Cue.ASKS: (
            r"(?:(?:y|pues|oye|bueno|vale|hola|entonces|perdona|a ver)\W+){0,2}"
            rf"(?:(?:a|de|con|en|por|para|desde|hasta|contra|sobre) )?(?:{_WHAT}|cual(?:es)?|cuant[oa]s?"
            r"|(?:como|donde|quien(?:es)?) (?:se|es|era|fue|est[aá]\w*|l[aeo]s?|me|nos))\b|(?:puedes|podrías|puede|podría|sabes|sabe|recuerdas"
            r"|dime|dígame|muestra|muéstrame|busca|encuentra|explica|explícame|recuérdame|describe|resume|enumera|hay|tienes)\b"
        ),
        Cue.POINTS_BACK: (
            r"\b(?:te acuerdas|recuerdas|recuérdame|antes(?! de)|la última vez|el otro día|otra vez|de nuevo|como (?:dijimos|acordamos|quedamos"
            r"|hablamos|dije)|(?:lo que )?(?:acordamos|decidimos|hablamos|quedamos)"
            r"|me (?:hab[ií]as \w+|\w{2,}[ai]ste)|te (?:dije|conté|pasé|mandé|hab[ií]a \w+))\b"
        ),
        Cue.WONDERS: (
            r"\b(?:no (?:me )?(?:sé|se|sabe\w*|recuerd[oa]\w*|acuerd[oa]\w*|encuentro|tengo claro|estoy segur[oa])|(?:ni|tengo) idea"
            r"|(?:quier\w+|querría\w*|quisiera\w*|gustaría|necesit\w+|hay que|tengo que)\b[^.!?\n]{0,20}\b"
            r"(?:saber|confirmar|recordar|averiguar)|(?:me|se|nos) pregunt\w+|pregunta[ns]?|olvid\w+|se me (?:ha )?(?:ido|fue|escapa)"
            rf"|dile\w*)\b[^.!?\n]{{0,40}}?\b(?:{_WHAT}|quien(?:es)?|cual(?:es)?|cuando|donde|como|cuant[oa]s?|si)\b"
            r"|\b(?:quiere|necesit\w+|hace falta|no (?:me )?(?:recuerdo|acuerdo)(?: de)?) (?:el|la|los|las)\b|\bno me acuerdo del\b"
        ),
        Cue.WHEN: (
            r"(?:(?:desde|hasta|para) )?(?:cuándo|cuánto tiempo|(?:(?:en|a|desde) )?qué (?:años?|mes|semana|días?|fecha|hora))\b"
        ),
        Cue.HOW_MANY: r"\bcuánt[oa]s?\b|\bqué (?:edad|precio)\b",
        Cue.WHO_OR_WHERE: (
            r"(?:(?:a|de|con|en|por|para|desde) )?(?:quién(?:es)?|dónde|adónde|cuál(?:es)?|qué (?:país|ciudad|empresa|doctora?))\b"
        ),
        Cue.JOINTLY: r"\b(?:ambos|ambas|juntos|juntas|los dos|las dos|en común)\b",
        Cue.INTERROGATIVE: rf"{_WHAT}\b",
        Cue.TELL_ME: r"(?:dime|dígame|muéstrame|recuérdame)\b",
        Cue.LEADS_IN: r"y|también|por favor|pues",
        Cue.JOINS_CLAUSES: r"(?:y|o|pero)\s+(?:también\s+|luego\s+)?",
        Cue.PERSON: r"\b(?:él|ella|ellos|ellas|le|les)\b",
        Cue.RECALLS: (
            rf"\b{_WHAT}\b[^.!?\n]{{0,80}}\b(?:dije|dijiste|dijimos|decidimos|acordamos|hablamos|mencioné|mencionaste|elegimos)\b"
            r"|\b(?:te acuerdas|recuerdas)\b[^.!\n]{0,120}\?|\brecuérdame\b"
        ),
        Cue.CORRECTS: (
            r"^\W*no\b\W+(?:eso|es|yo|nosotros|así)\b|^\W*(?:eso|esto) (?:es|era|no es)(?: \w+)? (?:incorrecto|falso|mentira|cierto"
            r"|verdad)\b|^\W*(?:incorrecto|falso)\b|\bte equivocas\b"
        ),
        Cue.DECISION: r"\b(?:(?:hemos |he )?(?:decidido|acordado)|decidimos|acordamos|a partir de ahora)\b",
        Cue.PREFERENCE: r"\b(?:prefiero|preferimos|alérgic[oa]|me encanta|me gusta más)\b",
        Cue.FACT: r"\b(?:vivo en|trabajo (?:en|como|para)|se llama|fecha límite|recuerda que)\b",
        Cue.TURNING: r"\b(?:al final|en vez de|en lugar de|cancelad[oa]|cambiamos de idea|mejor no)\b",
        Cue.NEGATION: r"\b(?:nunca|ning[uú]n[ao]?|jamás|nadie)\b",
        Cue.TIME: (
            r"\b(?:ayer|hoy|anteayer|lunes|martes|miércoles|jueves|viernes|sábado|domingo|enero|febrero|marzo|abril|junio|julio|agosto"
            r"|septiembre|octubre|noviembre|diciembre|semanas?|meses|años?)\b"
        ),
        Cue.SPEAKER: r"\b(?:yo|Yo|mi|mis|Mi|Mis|nosotros|nuestr[oa]s?|Nuestr[oa]s?|nos)\b",
        Cue.ABBREVIATION: r"Sra?|Dra|Ud|Uds|pág|aprox|p\. ej|EE\. UU",
        Cue.DATE: (
            r"\b\d{1,2} de (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
            r"(?: de \d{4})?\b"
        ),
        Cue.NAME_JOINER: "del |de la |de los ",
        Cue.COURTESY: (
            r"(?:(?:muchas |mil )?gracias(?: por todo)?|hola|buenos días|buenas (?:tardes|noches)|adiós|hasta (?:luego|pronto|mañana))"
        ),
    },
)
