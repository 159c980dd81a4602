"""Additional sentences of the harder north-star scripts, for each phrasing: choices never made,
second thoughts, decisions taken back, and what rested on them.

`{v}` is the current value, `{w}` an alternative or earlier one; `{s}` is the subject, `{x}` a
number. `decoys` are pairs of a user's sentence and the reply, before anything is decided, about a
choice that is somebody else's; with `open_ends` a topic is put off. `rests` are a sentence with a
consequence of a decision, its subject, and the question for it.
"""

from __future__ import annotations

from typing import Any, Final

from pagefault.lab.northstar_templates import CHANGE, UNDO
from pagefault.lab.northstar_templates_further import CLUB, GERMAN, SPANISH
from pagefault.lab.northstar_templates_talk import CHANGE as TALK_CHANGE

HARDER: Final[dict[str, dict[str, Any]]] = {
    "script": {
        "change": CHANGE,
        "decoys": (
            ("A blog post says {w} is the future of the {s}.", "Blog posts say a lot."),
            ("At my last job the {s} was {w}, and nobody liked it.", "That happens."),
            ("Could {w} ever work as a {s}?", "For small teams it could."),
            ("Tom's team uses {w} for their {s}.", "They have other needs than you."),
            ("What would {w} cost us as the {s}?", "About twice of what you pay now."),
        ),
        "undo": UNDO,
        "open_ends": (
            ("I can't decide on the {s} today.", "Then let's leave it for now."),
            ("The {s} has to wait until the budget is there.", "All right, it stays open."),
            ("Let's postpone the {s}.", "Postponed."),
        ),
        "rests": (
            (
                "As the {s} is {v}, the licence takes {x} euros a month.",
                "licence for the {s}",
                "What does the licence for the {s} take?",
            ),
            (
                "With {v} the migration will need {x} days.",
                "days for the migration",
                "How many days will the migration need?",
            ),
            (
                "Because of {v} we plan {x} hours of training.",
                "hours of training",
                "How many hours of training did we plan?",
            ),
        ),
    },
    "talk": {
        "change": TALK_CHANGE,
        "decoys": (
            (
                "My brother-in-law swears by {w} when it comes to {s}, bless him.",
                "Brothers-in-law have opinions.",
            ),
            (
                "Funny, the podcast this morning was all about {s}. They praised {w} to the skies.",
                "Podcasts have sponsors, too.",
            ),
            (
                "If money were no object I'd daydream about {w} for {s}, but it is.",
                "Daydreams are free, at least.",
            ),
            (
                "The neighbours went with {w} for {s} and now they complain every weekend.",
                "A warning, or bad luck.",
            ),
        ),
        "undo": (
            "Hold on, forget {v}. We're back to square one on {s}.",
            "I've cancelled {v} this morning, nothing replaces it for the time being.",
            "You can cross out what I said about {s}, it's all up in the air again.",
            "So much for {s}: the {v} thing is dead, and we do without for now.",
            "Turns out we can't have {v}. I'd rather leave {s} open until spring.",
        ),
        "open_ends": (
            ("Not today, {s} gives me a headache. Some other time.", "Whenever you like."),
            ("I keep putting off {s}, don't I? Next month, promise.", "I'll hold you to it."),
            ("Priya wants to sleep on {s} first.", "Then let her sleep."),
        ),
        "rests": (
            (
                "Now that it's {v} for {s}, I told accounting to set aside {x} euros.",
                "what accounting sets aside",
                "How much did I tell accounting to set aside?",
            ),
            (
                "Since {v} settles {s}, Jonas only needs {x} days for the move.",
                "Jonas' days for the move",
                "How many days does Jonas need for the move, did I say?",
            ),
            (
                "And with {v} we'll be {x} people at the kick-off, I counted.",
                "people at the kick-off",
                "so how many are we at the kick-off",
            ),
        ),
    },
    "club": {
        "change": CLUB["change"],
        "decoys": (
            ("The rival choir has {w}, as far as {s} goes, and lords it over us.", "Let them."),
            ("My late aunt always dreamt of {w} for {s}.", "A lady of taste."),
            ("Someone scribbled {w} next to {s} in the suggestion book.", "With a smiley?"),
            ("Would anyone in their right mind take {w}? For {s}, I mean.", "Some would."),
        ),
        "undo": (
            "The committee threw out {v} last night. There is nothing in its place.",
            "Scratch {s}. {v} is not happening and I have no other plan.",
            "We withdrew from {v}, so {s} is a blank page once more.",
            "Derek vetoed {v}. As for {s}, wait and see.",
        ),
        "open_ends": (
            ("{s}: deferred to the autumn meeting, they were all tired.", "Autumn it is."),
            ("Nobody dared to vote on {s}.", "Then it can wait."),
            ("I shall think about {s} when the hay is in.", "The hay comes first."),
        ),
        "rests": (
            (
                "As {v} it is, the bus for the tenors will cost {x} pounds.",
                "the bus for the tenors",
                "What was the bus for the tenors going to cost?",
            ),
            (
                "{v} means that we order {x} folding chairs.",
                "folding chairs",
                "Number of folding chairs to order, please?",
            ),
            (
                "On account of {v} the raffle has to bring in {x} pounds.",
                "the raffle",
                "Remind me what the raffle has to bring in.",
            ),
        ),
    },
    "german": {
        "change": GERMAN["change"],
        "decoys": (
            ("Mein Schwager schwört ja auf {w}, so über {s} gefragt.", "Schwager eben."),
            ("In der Zeitung stand, {w} liege im Trend. Es ging um {s}.", "Trends vergehen."),
            ("Die Nachbarn haben {w} und jammern nur noch, Stichwort {s}.", "Kein gutes Zeichen."),
            ("Wäre {w} eigentlich etwas, so ganz allgemein? Ich meine {s}.", "Für manche schon."),
        ),
        "undo": (
            "Das mit {v} hat sich zerschlagen, Ersatz gibt es keinen.",
            "Ich habe {v} wieder abgesagt. {s} bleibt erst einmal liegen.",
            "Vergiss {v}. Was {s} angeht, fangen wir von vorn an.",
            "Aus {v} wird nichts, wir stehen bei {s} wieder am Anfang.",
        ),
        "open_ends": (
            ("{s} schiebe ich vor mir her, heute nicht mehr.", "Morgen ist auch ein Tag."),
            ("Über {s} reden wir nach den Ferien.", "Gut, nach den Ferien."),
            ("Bei {s} konnten wir uns nicht einigen, vertagt.", "Vertagt."),
        ),
        "rests": (
            (
                "Mit {v} brauchen wir {x} Stühle mehr.",
                "Stühle mehr",
                "Wie viele Stühle brauchen wir mehr?",
            ),
            (
                "Weil es {v} ist, legt die Kasse {x} Euro zurück.",
                "was die Kasse zurücklegt",
                "Wie viel legt die Kasse zurück?",
            ),
            (
                "Wegen {v} kommt der Lieferwagen um {x} Minuten später.",
                "der Lieferwagen",
                "Um wie viel später kommt der Lieferwagen?",
            ),
        ),
    },
    "spanish": {
        "change": SPANISH["change"],
        "decoys": (
            ("Mi cuñado no para de hablar de {w}, ya sabes, por {s}.", "Los cuñados son así."),
            ("Salió {w} en la tele, un reportaje sobre {s}.", "Lo vi de pasada."),
            ("Los del quinto tienen {w} y se quejan a diario, en lo de {s}.", "Vaya, mala pinta."),
            ("¿A quién se le ocurriría {w}? Para {s}, digo.", "A más de uno."),
        ),
        "undo": (
            "Se cayó lo de {v} y no hay nada en su lugar.",
            "He cancelado {v}. Con {s} volvemos a la casilla de salida.",
            "Lo de {v} ya no va, y {s} queda en el aire.",
            "Tacha {v}, de momento nos quedamos sin nada para {s}.",
        ),
        "open_ends": (
            ("Hoy no me veo con fuerzas para {s}.", "Otro día será."),
            ("Dejamos {s} para después del puente.", "Perfecto, después."),
            ("No hubo acuerdo sobre {s}.", "Ya lo habrá."),
        ),
        "rests": (
            (
                "Con {v} hay que reservar {x} sillas.",
                "sillas que reservar",
                "¿Cuántas sillas hay que reservar?",
            ),
            (
                "Como es {v}, el seguro sube {x} euros.",
                "lo que sube el seguro",
                "¿Cuánto sube el seguro?",
            ),
            (
                "Gracias a {v} ahorramos {x} euros de transporte.",
                "ahorro de transporte",
                "¿Qué ahorro de transporte tenemos?",
            ),
        ),
    },
}
