"""Portuguese."""

from __future__ import annotations

from typing import Final

from pagefault.language.language import Dates, Holiday, Language, Script, counted, words

PORTUGUESE: Final = Language(
    code="pt",
    script=Script.LATIN,
    snowball="portuguese",
    stop_words=words(
        """
        ao aos as até com como da das de dela dele deles depois do dos e ela elas ele eles em entre era essa esse esta está estamos
        estão estava este eu foi foram há isso isto já lhe mais mas me mesmo meu meus minha muito na nas não nem no nos nossa nosso
        num numa o os ou para pela pelo por porque qual quando quanto que quem se sem ser seu seus sua suas são também te tem têm temos
        tenho tinha um uma você vocês onde só foi ainda então
        """
    ),
    opposites=words("nao sem nenhum nenhuma"),
    times=words(
        """
        ontem hoje amanhã anteontem passado passada próximo próxima semana mês ano desde atrás segunda-feira terça-feira
        quarta-feira quinta-feira sexta-feira feira terça sábado domingo janeiro fevereiro março abril maio junho julho agosto
        setembro outubro novembro dezembro
        """
    ),
    numbers=words(
        "dois duas três quatro cinco seis sete oito nove dez onze doze quinze vinte trinta quarenta cinquenta cem mil dúzia"
    ),
    anything=words(
        """
        acontecer aconteceu acontece passar passou falar falamos falámos conversar conversamos dizer disse dissemos contar fazer
        fizemos decidir decidimos combinar combinamos novo algo passado passada dia dias semana semanas mês meses ano anos fim fins
        ontem anteontem hoje segunda terça quarta quinta sexta feira sábado domingo janeiro fevereiro março abril maio junho julho
        agosto setembro outubro novembro dezembro dois duas três quatro cinco seis primeiro primeira segundo terceiro terceira
        quarto último última penúltimo penúltima princípio princípios início começo meados final finais primavera verão outono
        inverno carnaval cinzas ramos santa páscoa pentecostes réveillon reis finados véspera natal
        """
    ),
    calendar=words(
        """
        segunda-feira terça-feira quarta-feira quinta-feira sexta-feira feira sábado domingo janeiro fevereiro março abril maio
        junho julho agosto setembro outubro novembro dezembro hoje ontem amanhã semana semanas mês meses ano anos dia dias hora
        horas minuto minutos noite tarde manhã
        """
    ),
    joins=words("e ou"),
    dates=Dates(
        months=(
            "jan(?:eiro)?",
            "fev(?:ereiro)?",
            "mar(?:ço)?",
            "abr(?:il)?",
            "maio?",
            "jun(?:ho)?",
            "jul(?:ho)?",
            "ago(?:sto)?",
            "set(?:embro)?",
            "out(?:ubro)?",
            "nov(?:embro)?",
            "dez(?:embro)?",
        ),
        weekdays=(
            "segunda(?:[- ]feira)?",
            "ter[çc]a(?:[- ]feira)?",
            "quarta(?:[- ]feira)?",
            "quinta(?:[- ]feira)?",
            "sexta(?:[- ]feira)?",
            "s[áa]bado",
            "domingo",
        ),
        units={
            "day": "dias?",
            "week": "semanas?",
            "weekend": "(?:fim|final)[ -]de[ -]semana|fds",
            "month": "m[êe]s(?:es)?",
            "year": "anos?",
        },
        near={
            "anteontem|antes de ontem": 2,
            "ontem|(?:na )?noite passada": 1,
            "hoje|esta noite": 0,
        },
        numbers=counted("um/uma dois/duas tr[êe]s quatro cinco seis sete oito nove dez onze doze"),
        days={
            "primeiro": 1,
            **counted(
                "um dois tr[êe]s quatro cinco seis sete oito nove dez onze doze treze quatorze/catorze quinze"
                " dezesseis/dezasseis dezessete/dezassete dezoito dezenove/dezanove vinte"
            ),
            **{
                rf"vinte\s+e\s+{one}": 20 + at
                for one, at in counted("um dois tr[êe]s quatro cinco seis sete oito nove").items()
            },
            r"trinta\s+e\s+um": 31,
            "trinta": 30,
        },
        date=(
            r"\b{d}[ºo]?(?:\s+de\s+|[-/]){month}\b\.?(?:,?\s+(?:de\s+|do\s+)?{y}\b)?"
            r"|\b(?:em|desde|de|até|este|neste|passado|durante|para|por|entre)\s+{month2}\b\.?(?:\s+(?:de\s+|do\s+)?{y2}\b)?"
            r"|\b{month3}\b\.?\s+(?:de\s+|do\s+)?{y3}\b"
        ),
        span=(
            r"\b(?:(?P<d>\d{1,2})\s+(?:a|até)\s+(?P<d2>\d{1,2})"
            r"|(?:do?|do\s+dia|entre|entre\s+os?(?:\s+dias?)?)\s+(?P<d3>\d{1,2})\s+(?:ao|até\s+ao|e|e\s+o)\s+(?:dia\s+)?(?P<d4>\d{1,2}))"
            r"\s+de\s+{month}\b\.?(?:\s+(?:de\s+|do\s+)?{y}\b)?"
            r"|\b(?P<d5>\d{1,2})\s*[-–]\s*(?P<d6>\d{1,2})\s+(?:de\s+)?{month2}\b\.?(?:\s+(?:de\s+|do\s+)?{y2}\b)?"
        ),
        short=r"\b(?:[Nn]o\s+)?[Dd]ia\s+{d}(?=\s*(?:[,;.!?](?!\d)|$))|\b(?:[Nn]o\s+[Dd]ia|[Ee]m)\s+{d2}/{m}(?![/\d])",
        doubtful_months=frozenset({"mar", "mai", "set", "out", "ago", "jan"}),  # the sea; names
        seasons=("primavera", "ver[ãa]o", "outono", "inverno"),
        ordinals={
            "primeir[oa]": 1,
            "segund[oa]": 2,
            "terceir[oa]": 3,
            "quart[oa]": 4,
            "[úu]ltim[oa]": -1,
        },
        parts={
            "princípios?|inícios?|começos?": "early",
            "meados|meio": "mid",
            "fins|fim|fina(?:l|is)": "late",
        },
        part=(r"\b{part}\s+(?:d[eo]\s+)?(?:mês\s+de\s+)?{month}\b\.?(?:\s+(?:de\s+|do\s+)?{y}\b)?"),
        nth=(
            r"\b{nth}\s+(?:{unit}|{weekday})\s+(?:d[eo]\s+)?(?:mês\s+de\s+)?{month}\b\.?"
            r"(?:\s+(?:de\s+|do\s+)?{y}\b)?"
        ),
        season=(
            r"\b(?:n[oa]|em|durante|desde)\s+(?:[oa]\s+)?{season}\b(?!\s+passad)"
            r"(?:\s+(?:de\s+)?{y}\b)?|\b{season2}\s+de\s+{y2}\b"
        ),
        last_season=r"\b{season}\s+passad[oa]\b|\b[úu]ltim[oa]\s+{season2}\b",
        this_season=r"\bn?e(?:st|ss)[ea]\s+{season}\b(?!\s+passad)",
        year=(
            r"\b(?<!mais\s)(?<!menos\s)(?<!cerca\s)(?:em|de|do|desde|durante|ano)\s+{y}\b"
            r"(?!-|\s+(?:reais|euros|pessoas|metros|palavras|vezes)\b)"
        ),
        ago=r"\b(?:há|faz)\s+{n}\s+{unit}\b|\b{n2}\s+{unit2}\s+atr[áa]s\b",
        last=r"\b{unit}\s+(?:passad[oa]|anterior)\b|\b(?:passad[oa]|[úu]ltim[oa])\s+{unit2}\b",
        before_last=r"\bpenúltim[oa]\s+{unit}\b(?!\s+d[eo]s?\b)|\b{unit2}\s+retrasad[oa]\b",
        this=r"\b[nd]?e(?:st|ss)[ea]\s+{unit}\b(?!\s+passad)",
        # "Segunda" and "quarta" are also numbers: alone, only before a pause.
        weekday=(
            r"\b{weekday}\s+passad[oa]\b|\búltim[oa]\s+{weekday2}\b"
            r"|\b(?:n[oa]|n?est[ea]|n?ess[ea])\s+{weekday3}\b(?:(?<=feira|[áa]bado|mingo)|(?=\s*(?:[,.;:!?]|$)))"
            r"(?!\s+(?:passad|d[ao]\s+semana))(?!,?\s+(?:dia\s+)?\d)"
        ),
        weekday_of_last_week=r"\b{weekday}\s+da\s+semana\s+passada\b",
        holidays={
            "terça[- ]feira de carnaval": Holiday(0, -47),
            "carnaval": Holiday(0, -50, 4),
            "quarta[- ]feira de cinzas": Holiday(0, -46),
            "domingo de ramos": Holiday(0, -7),
            "semana santa": Holiday(0, -6, 7),
            "quinta[- ]feira santa": Holiday(0, -3),
            "sexta[- ]feira santa": Holiday(0, -2),
            "(?:domingo de )?páscoa": Holiday(0, 0),
            "pentecostes": Holiday(0, 49),
            "corpus christi|corpo de deus": Holiday(0, 60),
            "r[ée]veillon|passagem de ano|véspera d[eo] ano[ -]novo": Holiday(12, 31),
            "ano[ -]novo": Holiday(1, 1),
            "dia de reis": Holiday(1, 6),
            "dia da mentira": Holiday(4, 1),
            "dia do trabalh(?:o|ador)": Holiday(5, 1),
            "dia da mãe": Holiday(5, 1, weekday=6),
            "dia das mães": Holiday(5, 8, weekday=6),
            "são joão": Holiday(6, 24),
            "halloween|dia das bruxas": Holiday(10, 31),
            "todos os santos": Holiday(11, 1),
            "finados": Holiday(11, 2),
            "são martinho": Holiday(11, 11),
            "véspera d[eo] natal": Holiday(12, 24),
            "natal": Holiday(12, 24, 3),
        },
        # A new year or Saint John alone is no day.
        holiday=(
            r"\b(?!ano[ -]novo\b|são joão\b){holiday}\b(?:\s+(?:de\s+|do\s+)?{y}\b)?"
            r"|\b(?:n[oa]|pel[oa]|em|desde|até)\s+{holiday2}\b(?:\s+(?:de\s+|do\s+)?{y2}\b)?"
        ),
        before_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+antes\s+d[eoa]\s+{holiday}\b(?:\s+(?:de\s+|do\s+)?{y}\b)?"
        ),
        after_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+depois\s+d[eoa]\s+{holiday}\b(?:\s+(?:de\s+|do\s+)?{y}\b)?"
        ),
    ),
)
