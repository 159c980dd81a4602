"""Sentences of further north-star scripts: people who run a club, a practice and a house, in
English, German and Spanish.

They were written after the work on paging was done, and nothing was changed for them. `{v}`, `{w}`
and `{s}` are as in `northstar_templates_talk.py`.
"""

from __future__ import annotations

from typing import Any, Final

CLUB: Final[dict[str, Any]] = {
    "topics": {
        "hall": (
            ("the Corn Exchange", "St Mark's crypt", "the Old Tannery", "Riverside Barn", "Unit 9"),
            ("the spring concert venue", "where the spring concert happens", "the concert hall"),
        ),
        "piece": (
            ("Fauré's Requiem", "Carmina Burana", "the Rossini mass", "Elijah", "Spem in Alium"),
            ("the main piece", "the big work this season", "the programme's main work"),
        ),
        "conductor": (
            ("Oyelaran", "Margit Dahl", "Piers Haldane", "Tomoko", "Beatriz Lobo"),
            ("the guest conductor", "who conducts in May", "the conductor for May"),
        ),
        "day": (
            ("Tuesdays", "Wednesdays", "Thursdays", "Sundays at noon", "Mondays at 19:15"),
            ("rehearsal day", "our weekly rehearsal", "the rehearsals"),
        ),
        "vet": (
            ("Bracken Lane", "Dr Achterberg", "the Mill Road practice", "Pawsome", "Hilltop Vets"),
            ("the vet", "the vet for the greyhound", "a vet for our dog"),
        ),
        "kibble": (
            ("salmon and rice", "Orijen", "raw beef", "the hydrolysed kind", "turkey with lentils"),
            ("the dog food", "what the greyhound eats", "feeding the greyhound"),
        ),
        "hedge": (
            ("hornbeam", "yew", "beech", "hawthorn", "Portuguese laurel"),
            ("the hedge", "the hedge by the lane", "planting along the lane"),
        ),
        "roof": (
            ("Welsh slate", "cedar shingles", "zinc", "clay pantiles", "standing-seam steel"),
            ("the roof", "roofing the shed", "what goes on the shed roof"),
        ),
        "trip": (
            ("Orkney", "the Ardennes", "Bornholm", "Anglesey", "the Vosges"),
            ("the summer trip", "our summer holiday", "two weeks in August"),
        ),
        "bank": (
            ("Triodos", "the Co-op", "Monzo", "Nationwide", "Starling"),
            ("the club's account", "banking for the club", "the treasurer's bank"),
        ),
        "boiler": (
            ("a heat pump", "the Vaillant", "a pellet stove", "the Worcester", "infrared panels"),
            ("heating the annexe", "the annexe heating", "the heating"),
        ),
        "logo": (
            ("the heron", "the blue lyre", "two crossed quills", "the lighthouse", "a green wave"),
            ("the new logo", "our logo", "the emblem on the posters"),
        ),
    },
    "opening": "Next on my list: {s}.",
    "asking": "Any instinct about {s}?",
    "offer": "People mention {w} and {v}.",
    "noted": "Right, I have that.",
    "decide": (
        "Committee minutes say {v} for {s}, carried unanimously.",
        "I rang round everyone last night. {s}, {v}. Nobody grumbled.",
        "We've paid the deposit, so {s} means {v} whether Derek likes it or not.",
        "{v}! That's {s} off my plate.",
        "Between you and me I never wanted {w}. For {s} we are having {v}.",
        "Tell the others that {s} has been fixed: {v}, no more emails please.",
        "After the site visit we shook hands on {v}, as regards {s}.",
        "{s}, you ask? {v}, and I won't be talked out of it.",
    ),
    "agree": (
        ("On {s}, I would be happiest with {v}.", "Then be happy. We'll have that."),
        ("{v} strikes me as right for {s}; {w} is a gamble.", "No gambling on my watch. Yes."),
        ("Thinking about {s}: {v} has the fewest drawbacks.", "Good enough, I'll sign it off."),
    ),
    "ask": (
        (
            "I keep going round in circles over {s}.",
            "Then toss a coin between {w} and {v}.",
            "No coin needed, {v}.",
        ),
        (
            "What are the runners and riders for {s}?",
            "{v} in front, {w} close behind.",
            "Put my money on {v} then, and book it.",
        ),
        (
            "Could you boil {s} down for me?",
            "It comes to this: {w} is cheap and {v} is good.",
            "Good beats cheap. {v}, please.",
        ),
    ),
    "change": (
        "Slight embarrassment: {w} is double-booked. {s} is {v} after all.",
        "Forget what the minutes say on {s}. The chair overruled us, {v}.",
        "{w} lasted a fortnight. We've gone over to {v} for {s}.",
        "Derek finally won, {s} becomes {v}.",
        "Correction regarding {s}, no longer {w}. It's {v}.",
    ),
    "recall": (
        "Derek wants to know about {s}. What do I tell him?",
        "Filling in the form for the council: {s}?",
        "Where had we got to with {s}?",
        "My memory is a sieve. {s}, what was the outcome?",
        "Just checking before I ring them: what's settled for {s}?",
        "Which way did it go in the end with {s}?",
    ),
    "chatter": (
        ("The photocopier jammed {n} times today.", "Old rollers do that. Clean them with spirit."),
        ("How many bars are {n} minutes at this tempo?", "Count one minute and multiply it."),
        ("I found {n} old scores in the cupboard.", "Some may be worth a little to collectors."),
        ("Dreamt of a staircase with {n} steps.", "Stairs are said to mean that one is busy."),
        ("Ticket sales are at {n} as of this morning.", "That is a decent pace for a Monday."),
        ("Can one freeze {n} scones?", "Yes, in layers, with paper between them."),
        ("The moles dug {n} hills on the lawn.", "Rake them flat; the soil is good for pots."),
        ("Rhyme something with verse {n} of the hymn.", "Try light and night, they rarely fail."),
    ),
}

GERMAN: Final[dict[str, Any]] = {
    "topics": {
        "saal": (
            ("die Alte Mühle", "das Kolpinghaus", "der Ratskeller", "Halle 7", "die Orangerie"),
            ("den Saal für das Fest", "das Sommerfest", "wo das Sommerfest stattfindet"),
        ),
        "anwalt": (
            (
                "Kanzlei Brenner",
                "Frau Dr. Petersen",
                "Lindner & Voss",
                "Herr Özdemir",
                "Notariat Kohl",
            ),
            ("den Notar", "den Notar für das Haus", "die Beurkundung beim Notar"),
        ),
        "rad": (
            ("das Riese & Müller", "ein Brompton", "das Cube", "ein Gazelle", "das alte Peugeot"),
            ("das Fahrrad für Jonas", "das neue Fahrrad", "Jonas' Fahrrad"),
        ),
        "strom": (
            ("Naturstrom", "die Stadtwerke", "Lichtblick", "Polarstern", "EWS Schönau"),
            ("den Stromanbieter", "unseren Strom", "den Stromvertrag im Büro"),
        ),
        "boden": (
            ("Eiche geölt", "Linoleum", "Kork", "Sichtestrich", "Lärche"),
            ("den Fußboden", "den Boden im Arbeitszimmer", "das Arbeitszimmer"),
        ),
        "kurs": (
            ("Aquarell", "Judo", "Cello", "Bouldern", "Schach"),
            ("den Kurs für Lotte", "Lottes Hobby", "was Lotte nachmittags macht"),
        ),
        "server": (
            ("Proxmox", "Nextcloud", "ein Synology", "TrueNAS", "Seafile"),
            ("die Ablage im Verein", "den Vereinsserver", "unsere gemeinsame Ablage"),
        ),
        "ziel": (
            ("Usedom", "Südtirol", "Gotland", "das Allgäu", "Lissabon"),
            ("den Urlaub im Herbst", "die Herbstferien", "unser Reiseziel im Herbst"),
        ),
    },
    "opening": "Offen ist noch {s}, glaube ich.",
    "asking": "Was rätst du mir, was {s} angeht?",
    "offer": "Genannt wurden {w} und {v}.",
    "noted": "Ist vermerkt.",
    "decide": (
        "So, Knoten geplatzt: {v}, was {s} betrifft.",
        "Zu {s}: gestern Abend haben wir uns auf {v} verständigt.",
        "Ich habe unterschrieben, für {s} kommt {v}. {w} war mir zu windig.",
        "Alle dafür, keiner dagegen. {s}: {v}!",
        "Kannst du abhaken, {s} ist geklärt, und zwar mit {v}.",
    ),
    "agree": (
        ("Für {s} spricht am meisten für {v}.", "Überzeugt, so wird's gemacht."),
        ("Bei {s} würde ich zu {v} greifen.", "Dann greifen wir zu."),
    ),
    "ask": (
        (
            "Hilf mir mal kurz, {s} raubt mir den Schlaf.",
            "In Frage kommen {w} oder {v}.",
            "Na, {v} natürlich.",
        ),
        ("Wie ist der Stand, {s}?", "Übrig sind {v} und {w}.", "Gut, {v}, und Schluss damit."),
    ),
    "change": (
        "Kommando zurück, was {s} angeht: {w} hat abgesagt, es wird {v}.",
        "{w} war ein Reinfall. Ab sofort {v}, für {s} meine ich.",
        "Neuigkeit zu {s}, meine Frau hat mich umgestimmt: {v}.",
        "Streich bitte {w}. {s} läuft jetzt über {v}.",
    ),
    "recall": (
        "Sag mal, wie war das mit {s}?",
        "Der Vorstand fragt nach: was gilt für {s}?",
        "Ich stehe auf dem Schlauch, {s}, was hatten wir da?",
        "Was trage ich ein, {s} betreffend?",
        "Wofür haben wir uns entschieden, was {s} angeht?",
    ),
    "chatter": (
        ("Heute früh waren es {n} Grad auf dem Balkon.", "Dann ist es Zeit für die Geranien."),
        ("Der Zug hatte {n} Minuten Verspätung.", "Bei Ersatzverkehr lohnt sich ein Umweg."),
        (
            "Erklär mir Paragraf {n} in einfachen Worten.",
            "Er regelt, wer haftet, wenn etwas fehlt.",
        ),
        ("Im Garten blühen {n} Tulpen.", "Schneide sie erst, wenn das Laub gelb ist."),
        ("Ich habe {n} Seiten im Krimi gelesen.", "Der Gärtner ist es meistens nicht."),
        ("Was mache ich aus {n} Eiern?", "Ein Omelett mit Schnittlauch geht immer."),
        ("Die Waschmaschine zeigt Fehler {n}.", "Meist ist das Sieb verstopft; sieh dort nach."),
    ),
}

SPANISH: Final[dict[str, Any]] = {
    "topics": {
        "local": (
            ("la Casa Azul", "el Molino", "la nave de Vallecas", "el Ateneo", "La Térmica"),
            ("el local del taller", "dónde damos el taller", "la sede del taller"),
        ),
        "imprenta": (
            ("Gráficas Ibarra", "Kadmos", "la de mi primo", "Podiprint", "Estugraf"),
            ("la imprenta", "imprimir el libro", "la imprenta del libro"),
        ),
        "pediatra": (
            (
                "la doctora Salas",
                "el doctor Quiroga",
                "Clínica Sur",
                "Belén Prats",
                "el ambulatorio",
            ),
            ("el pediatra", "la pediatra de Nora", "quién atiende a Nora"),
        ),
        "pintura": (
            ("verde salvia", "ocre", "blanco roto", "terracota", "azul petróleo"),
            ("el salón", "la pintura del salón", "pintar las paredes del salón"),
        ),
        "coche": (
            ("el Dacia", "un Prius", "la furgoneta", "un Kona", "el Ibiza viejo"),
            ("el coche", "el coche de la empresa", "cómo se mueve la empresa"),
        ),
        "boda": (
            ("Ronda", "Cadaqués", "Trujillo", "Santillana", "Menorca"),
            ("la boda de Inés", "dónde se casa Inés", "el sitio de la boda"),
        ),
        "gestor": (
            ("Asesoría Luque", "Declarando", "Marta Rey", "Xolido", "Holded"),
            ("la gestoría", "las cuentas con la gestoría", "quién lleva las cuentas"),
        ),
        "perro": (
            ("un galgo", "una podenca", "un mestizo", "una mastina", "un teckel"),
            ("el perro", "adoptar un perro", "el perro que adoptamos"),
        ),
    },
    "opening": "Queda por hablar de {s}.",
    "asking": "¿Tú qué harías con {s}?",
    "offer": "Suenan {w} y {v}.",
    "noted": "Apuntado.",
    "decide": (
        "Ya está, en cuanto a {s}, {v}. Qué descanso.",
        "Lo consulté con la almohada: {v} para {s}, y {w} para otra vida.",
        "Firmado y pagado, {s}: {v}.",
        "Mira, {v}. Lo digo por {s}, que no se hable más.",
        "La asamblea votó sobre {s} y salió {v}.",
    ),
    "agree": (
        ("Para {s} yo tiraría por {v}.", "Pues tiramos por ahí."),
        ("Respecto a {s}, {v} te dará menos guerra que {w}.", "Menos guerra, hecho."),
    ),
    "ask": (
        ("Me tiene frita {s}.", "Solo quedan {v} y {w}, elige.", "Venga, {v}."),
        ("¿Qué hay sobre {s}?", "Dos candidatos, {w} y {v}.", "Me quedo con {v} sin dudarlo."),
    ),
    "change": (
        "Olvida lo que dije de {s}; al final {v}.",
        "{w} nos dejó tirados, así que {v} para {s}.",
        "Giro de guion con {s}: ni {w} ni nada, {v}.",
        "A última hora cambiamos {w} por {v}, hablo de {s}.",
    ),
    "recall": (
        "Oye, ¿en qué quedó {s}?",
        "Me preguntan por {s} y no sé qué contestar. ¿Qué era?",
        "Recuérdame qué pasa con {s}.",
        "Para el acta: ¿{s}?",
        "¿Cuál fue la decisión final sobre {s}?",
    ),
    "chatter": (
        ("He caminado {n} kilómetros por la playa.", "Buena marca; estira los gemelos al llegar."),
        ("El ascensor lleva {n} horas parado.", "Llama al técnico y sube despacio."),
        ("Tradúceme la frase {n} del folleto.", "Dice que el museo cierra los lunes."),
        ("Mi abuela cumple {n} años.", "Una tarta sencilla y muchas velas."),
        ("¿Cuánto arroz pongo para {n} personas?", "Un puñado por cabeza y otro de más."),
        ("El vecino tocó la trompeta {n} minutos.", "Unos tapones cuestan menos que una pelea."),
        ("Se me han secado {n} macetas.", "Riega por la noche y ponlas a la sombra."),
    ),
}
