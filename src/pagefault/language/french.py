"""French."""

from __future__ import annotations

from typing import Final

from pagefault.language.language import Cue, Dates, Holiday, Language, Script, counted, words

FRENCH: Final = Language(
    code="fr",
    script=Script.LATIN,
    snowball="french",
    stop_words=words(
        """
        à ai aie ait alors après as au aucun aucune auquel aura aurait aussi autre autres aux auxquels avaient avais avait avant
        avec avez avoir avons ayant bien c ça car ce ceci cela celle celles celui cependant certain certaine ces cet cette ceux
        chaque chez comme comment d dans de depuis des dessous dessus deux devait doit donc dont du elle elles en encore entre
        es est et étaient étais était étant été être eu eux faire fait faut fut ici il ils j je jusqu jusque l la là laquelle le
        lequel les lesquels lesquelles leur leurs lors lorsqu lorsque lui m ma mais me même mêmes mes mien moi moins mon n ne ni
        nos notre nous on ont ou où par parce pas pendant peu peut peuvent plus plutôt pour pourquoi puis puisqu puisque qu quand
        que quel quelle quelles quels qui quoi quelque quelques s sa sans se sera serait ses si sien soi sois soit sommes son sont
        sous suis sur t ta tandis te tel telle tels tes toi ton tous tout toute toutes très trop tu un une vers voici voilà vont
        vos votre vous vu y combien aurai auront sera serons seront étions fois
        """
    ),
    fillers=words(
        """
        ah ailleurs ainsi alors assez aujourd'hui aujourd attendant avis beaucoup bon bonjour bonne bonsoir c'est certes
        chose choses clair commence d'accord déjà demain dernier dernière dire dit enfin entendu environ est-ce exactement général
        hein hier idée jamais juste justement longtemps maintenant merci mieux n'est non note ok oui ouais parfait parfois passe
        pense penser pensez peut-être presque prochain quelqu quelqu'un raison ravi rien salut sais savoir sinon souvent super
        sûr surtout tant tard tellement toujours tôt toutefois trouve va vais vas vite voir vois vraiment vrai s'il plaît
        """
    ),
    greetings=words("bonjour salut bonsoir oui non ok merci"),
    elisions=words("l d j m n s t c qu jusqu lorsqu puisqu quoiqu"),
    irregular="""
        aller: vais vas va allons allez vont irai iras ira irons iront irait
        avoir: eu
        boire: bu boit
        choisir: choisi choisie
        conduire: conduit conduite
        croire: cru
        devoir: dû
        écrire: écrit écrite écrits
        lire: lu lue lit
        mettre: mis mise met
        œil: yeux
        offrir: offert offerte
        ouvrir: ouvert ouverte
        perdre: perdu perdue
        prendre: pris prise prend prennent
        recevoir: reçu reçue reçoit
        savoir: su sait
        tenir: tenu tient
        vendre: vendu vendue
        venir: venu venue vient viennent
        vivre: vécu vit
        voir: vu vue voit
        vouloir: voulu veut
    """,
    opposites=words("ne pas jamais rien sans aucun aucune"),
    times=words(
        """
        hier aujourd'hui demain avant-hier récemment dernier dernière prochain prochaine semaine week-end mois année an ans
        depuis lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril mai juin juillet août septembre
        octobre novembre décembre
        """
    ),
    numbers=words(
        "deux trois quatre cinq six sept huit neuf dix onze douze vingt trente quarante cinquante cent mille douzaine dizaine"
    ),
    anything=words(
        """
        passer passé passe arriver arrivé parler parlé discuter discuté dire dit raconter raconté faire fait décider décidé neuf
        nouveau chose dernier dernière derniers jour jours semaine semaines week-end mois an ans année années hier avant-hier
        aujourd'hui lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril mai juin juillet août septembre
        octobre novembre décembre deux trois quatre cinq six premier première deuxième second seconde troisième quatrième début
        mi milieu fin printemps été automne hiver
        gras rameaux saint pâques ascension pentecôte sylvestre nouvel épiphanie chandeleur valentin halloween toussaint noël
        """
    ),
    calendar=words(
        """
        lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril mai juin juillet août septembre octobre
        novembre décembre hier demain semaine semaines mois an ans année années jour jours journée heure heures minute minutes soir
        matin nuit week-end
        """
    ),
    joins=words("et ou"),
    dates=Dates(
        months=(
            "janv(?:ier)?",
            "f[ée]vr?(?:ier)?",
            "mars",
            "avr(?:il)?",
            "mai",
            "juin",
            "juil(?:let)?",
            "ao[uû]t",
            "sept(?:embre)?",
            "oct(?:obre)?",
            "nov(?:embre)?",
            "d[ée]c(?:embre)?",
        ),
        weekdays=("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
        units={
            "day": "jours?",
            "week": "semaines?",
            "weekend": "week-?end",
            "month": "mois",
            "year": "ans?|années?",
        },
        near={"avant-hier": 2, "hier": 1, "aujourd['’]hui": 0, "ce soir": 0},
        numbers=counted("un/une deux trois quatre cinq six sept huit neuf dix onze douze"),
        date=(
            r"\b{d}(?:er)?\s+{month}\b\.?(?:\s+{y}\b)?"
            r"|\b(?:en|depuis|de|jusqu['’]en|ce|mois d['e’])[ -]?\s*{month2}\b\.?(?:\s+{y2}\b)?"
            r"|\b{month3}\b\.?\s+{y3}\b"
        ),
        span=(
            r"\b(?:du\s+|des\s+)?(?P<d>\d{1,2})(?:er)?\s*(?:au|-|–|jusqu['’]au)\s*(?P<d2>\d{1,2})\s+{month}\b\.?(?:\s+{y}\b)?"
            r"|\bentre\s+le\s+(?P<d3>\d{1,2})(?:er)?\s+et\s+le\s+(?P<d4>\d{1,2})\s+{month2}\b\.?(?:\s+{y2}\b)?"
        ),
        short=r"\b[Ll]e\s+{d}(?:er)?(?=\s*(?:[,;.!?](?!\d)|$))",
        seasons=("printemps", "été", "automne", "hiver"),
        ordinals={
            "premi(?:er|ère)": 1,
            "deuxième|seconde?": 2,
            "troisième": 3,
            "quatrième": 4,
            "derni(?:er|ère)": -1,
        },
        parts={"début": "early", "mi|milieu": "mid", "fin": "late"},
        part=r"\b{part}[\s-]+(?:du\s+mois\s+)?(?:de\s+|du\s+|d['’]\s*)?{month}\b\.?(?:\s+{y}\b)?",
        nth=(
            r"\b{nth}\s+(?:{unit}|{weekday})\s+(?:du\s+mois\s+)?(?:de\s+|du\s+|d['’]\s*){month}\b\.?"
            r"(?:\s+{y}\b)?"
        ),
        season=(
            r"\b(?:au|en|(?:à|pendant|depuis|durant)\s+l['’]|(?:pendant|depuis|durant)\s+le)\s*{season}\b"
            r"(?!\s+(?:derni|pass))(?:\s+(?:de\s+)?{y}\b)?|\b{season2}\s+(?:de\s+)?{y2}\b"
        ),
        last_season=r"\b{season}\s+(?:dernier|passé|précédent)\b",
        this_season=r"\b(?:cet|ce)\s+{season}\b(?!\s+(?:derni|pass|précéd))",
        year=(
            r"\b(?<!plus\s)(?<!moins\s)(?<!près\s)(?:en|depuis|de|pendant|dès)\s+{y}\b"
            r"(?!-|\s+(?:euros|personnes|mètres|mots|fois)\b)"
        ),
        ago=r"\bil y a\s+{n}\s+{unit}\b",
        last=r"\b{unit}\s+(?:derni(?:er|ère)|passée?|précédente?)\b",
        before_last=r"\bavant-derni(?:er|ère)\s+{unit}\b(?!\s+(?:du?\b|d['’]))",
        this=r"\b(?:ce|cet|cette)\s+{unit}\b(?!\s+(?:derni(?:er|ère)|passée?|précédente?))",
        weekday=r"\b{weekday}\s+(?:dernier|passé)\b|\b(?:ce|le)\s+{weekday2}\b",
        holidays={
            "mardi gras": Holiday(0, -47),
            "(?:dimanche des )?rameaux": Holiday(0, -7),
            "vendredi saint": Holiday(0, -2),
            "lundi de p[âa]ques": Holiday(0, 1),
            "dimanche de p[âa]ques": Holiday(0, 0),
            "p[âa]ques": Holiday(0, -2, 4),
            "ascension": Holiday(0, 39),
            "pentec[ôo]te": Holiday(0, 49, 2),
            "saint[ -]sylvestre": Holiday(12, 31),
            "nouvel an|jour de l['’]an": Holiday(1, 1),
            "[ée]piphanie": Holiday(1, 6),
            "chandeleur": Holiday(2, 2),
            "saint[ -]valentin": Holiday(2, 14),
            "halloween": Holiday(10, 31),
            "toussaint": Holiday(11, 1),
            "no[ëe]l": Holiday(12, 24, 3),
        },
        holiday=r"\b{holiday}\b(?:\s+(?:de\s+)?{y}\b)?",
        before_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+avant\s+(?:l['’]\s*|la\s+|le\s+|les\s+)?{holiday}\b(?:\s+(?:de\s+)?{y}\b)?"
        ),
        after_holiday=(
            r"\b(?:{n}\s+)?{unit}\s+après\s+(?:l['’]\s*|la\s+|le\s+|les\s+)?{holiday}\b(?:\s+(?:de\s+)?{y}\b)?"
        ),
    ),
    cues={
        Cue.ASKS: (
            r"(?!(?:quoi|qui|où) qu(?:e\b|['’])|quand [^.?!\n]*,)(?:(?:et|bon|alors|donc|dis|ok|salut|bonjour|au fait|mais)\W+){0,2}"
            r"(?:c['’ ]?(?:est|[ée]tait) (?:quoi|qui|quand|combien|lequel|laquelle|quel(?:le)?s?)|est[- ]ce qu"
            r"|(?:tu|vous|on|nous|je)\b(?:(?!importe|sa(?:is|it|vons|vez)|verr)[^,.;!?\n]){0,40}"
            r" (?:quoi|quel(?:le)?s?|combien|lequel|laquelle)|(?:jusqu['’](?:à|en)|depuis) (?:quand|quel(?:le)?s?)"
            r"|qui|que|quoi|quel(?:le)?s?|quand|où|pourquoi|comment|combien|lequel|laquelle|est-ce|qu['’]est-ce|qu['’](?:a|as|avons"
            r"|ont|avez|on|il|elle)|(?:à|de|avec|pour|chez|dans|sur|en|par) (?:qui|quoi|quel(?:le)?s?|combien|où)|d['’]où|peux-tu"
            r"|pouvez-vous|pourrais-tu|pourriez-vous|as-tu|avez-vous|sais-tu|savez-vous|dis-moi|dites-moi|montre|trouve|cherche"
            r"|explique|rappelle|donne|résume|décris|y a-t-il)\b"
        ),
        Cue.POINTS_BACK: (
            r"\b(?:te souviens-tu|tu te souviens|vous souvenez-vous|rappelle-moi|rappelez-moi|l['’]autre (?:jour|fois)|la dernière"
            r" fois|précédemment|tout à l['’]heure|encore une fois|comme (?:convenu|on l['’]a dit|je l['’]ai dit|prévu)"
            r"|(?:on|nous) (?:a|avons) (?:décidé|convenu|discuté|parlé|dit)"
            r"|(?:tu m['’]avais|vous m['’]aviez|je (?:t['’]|vous )avais|que (?:je t['’]ai|tu m['’]as)))\b"
        ),
        Cue.WONDERS: (
            r"\b(?:(?:sais|sait|savons|savent|souviens|souvient|rappelle|retrouve|trouve)\b[^.!?\n]{0,15}\b(?:plus|pas)"
            r"|(?:veu(?:x|t|lent)|voudrai(?:s|t|ent)|aimerai(?:s|t|ent)|faut|faudrait|besoin de|envie de)\b[^.!?\n]{0,25}\b"
            r"(?:savoir|connaître|retrouver|vérifier)|(?:me|se|te) demand\w+|demand(?:e|ent|é|aient|ait)|oublié|échappe|j['’]ignore|sorti de la tête|aucune idée"
            r"|pas (?:sûre?|certaine?)|dis[- ](?:moi|lui|leur|à)|curieu\w+)\b[^.!?\n]{0,40}?\b(?:qui|quel(?:le)?s?|quand|où|pourquoi"
            r"|comment|combien|ce qu(?:e|i|['’])|si)\b"
            r"|\b(?:veut|veulent|faudrait|besoin de?|(?:souviens|rappelle) (?:plus|pas)(?: de)?) (?:(?:les?|la|du|notre)\b|l['’])"
        ),
        Cue.WHEN: (
            r"(?:quand|depuis quand|jusqu['’]à quand|depuis combien de temps|combien de temps"
            r"|(?:(?:en|à|depuis|dans) )?quel(?:le)?s? (?:année|mois|semaine|jours?|date|heure))\b"
        ),
        Cue.HOW_MANY: r"\bcombien\b|\bquel (?:âge|prix)\b",
        Cue.WHO_OR_WHERE: (
            r"(?:(?:à|de|avec|pour|chez|par|dans|sur) )?(?:qui|où|d['’]où|quel(?:le)?s?|lequel|laquelle)\b"
        ),
        Cue.JOINTLY: r"\b(?:tous les deux|toutes les deux|ensemble|en commun|l['’]un l['’]autre)\b",
        Cue.INTERROGATIVE: r"(?:qui|que|qu['’]est-ce|quel(?:le)?s?|quand|où|pourquoi|comment|combien)\b",
        Cue.INVERTED: r"(?:est|sont|as|a|avez|ont|peux|pouvez|peut|était|étaient)-(?:ce|tu|il|elle|vous|ils|elles|on|t-il|t-elle)\b",
        Cue.TELL_ME: r"(?:dis|dites|montre|montrez|rappelle|rappelez)-moi\b",
        Cue.LEADS_IN: r"et|aussi|donc|alors|s['’]il (?:te|vous) plaît",
        Cue.JOINS_CLAUSES: r"(?:et|ou|mais)\s+(?:aussi\s+|ensuite\s+)?",
        Cue.PERSON: r"\b(?:il|elle|ils|elles|lui|leur)\b",
        Cue.RECALLS: (
            r"\b(?:que|qui|quand|où|pourquoi|comment|quel(?:le)?s?)\b[^.!?\n]{0,80}\b(?:avons|avez|as|ai|a)\b[^.!?\n]{0,60}"
            r"\b(?:dit|raconté|décidé|convenu|discuté|mentionné|choisi)\b"
            r"|\b(?:te souviens-tu|tu te souviens|vous souvenez-vous)\b[^.!\n]{0,120}\?|\brappelle(?:z)?-moi\b"
        ),
        Cue.CORRECTS: (
            r"^\W*non\b\W+(?:c['’]|ce|je|nous|on|tu|pas|faux)|^\W*c['’](?:est|était)(?: \w+)? (?:faux|inexact|pas (?:ça|vrai))\b"
            r"|^\W*faux\b|\btu (?:te trompes|confonds)\b"
        ),
        Cue.DECISION: (
            r"\b(?:(?:on a|nous avons|j['’]ai) (?:\S+ )?(?:décidé|choisi|convenu|retenu)|désormais|à partir de maintenant)\b"
        ),
        Cue.PREFERENCE: r"\b(?:je préfère|nous préférons|allergique)\b",
        Cue.FACT: r"\b(?:habite à|travaille (?:chez|comme)|s['’]appelle|date limite)\b",
        Cue.TURNING: r"\b(?:finalement|au lieu de|annulé|changé d['’]avis)\b",
        Cue.NEGATION: (
            r"\b(?:jamais|aucune?|n['’´`]\S+ (?:\S+ )?(?:pas|plus|guère)"
            r"|ne \S+ (?:\S+ )?(?:pas|plus|guère))\b"
        ),
        Cue.TIME: (
            r"\b(?:hier|aujourd['’]hui|demain|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|avril|juin"
            r"|juillet|août|septembre|octobre|novembre|décembre|semaines?|années?)\b"
        ),
        Cue.SPEAKER: r"\b(?:je|Je|[jJ]['’]\w+|mon|ma|mes|Mon|Ma|Mes|nous|Nous|notre|nos|Notre|moi)\b",
        Cue.ABBREVIATION: r"Mme|Mlle|p\. ex|c\.-à-d",
        Cue.DATE: (
            r"\b(?:1er|\d{1,2}) (?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre)(?: \d{4})?\b"
        ),
        Cue.NAME_JOINER: "du |des ",
        Cue.COURTESY: (
            r"(?:merci(?: (?:beaucoup|bien|à (?:toi|vous)|encore))?|bonjour|bonsoir|salut|au revoir|à (?:bientôt|demain|plus tard)"
            r"|bonne (?:journée|soirée|nuit))"
        ),
    },
)
