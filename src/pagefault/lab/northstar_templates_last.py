"""Sentences of the last north-star scripts: people who run a museum and its expedition, a bakery in
France, and a farm in Austria.

They were written after the work they measure was done, and before any measurement with them;
nothing was changed for them. Fields are as in `northstar_templates_further.py` and, in
`LAST_HARDER`, as in `northstar_templates_harder.py`.
"""

from __future__ import annotations

from typing import Any, Final

MUSEUM: Final[dict[str, Any]] = {
    "topics": {
        "ship": (
            ("the Aurelia", "RV Petrel", "the Nordic Wren", "Kestrel II", "the old trawler"),
            ("the ship", "the expedition ship", "which ship we charter"),
        ),
        "guard": (
            ("Securitas", "Blackthorn", "two retired constables", "Argus Night", "the Kemp twins"),
            ("night security", "the night guards", "guarding the galleries at night"),
        ),
        "glass": (
            ("Optium acrylic", "low-iron glass", "Mirogard", "plain perspex", "sapphire panes"),
            ("the display cases", "glazing for the display cases", "the glass in the cases"),
        ),
        "whale": (
            ("hanging it from the dome", "the east wing", "cold storage", "the atrium", "Hall Q"),
            ("the whale skeleton", "the whale", "a place for the whale skeleton"),
        ),
        "caterer": (
            ("Ottolini", "Fig & Thistle", "the canteen ladies", "Saffron Lane", "Ruby's"),
            ("the gala catering", "catering for the gala", "food at the gala"),
        ),
        "scanner": (
            ("Artec Leo", "a Faro arm", "Zeiss T-Scan", "the borrowed Creaform", "photogrammetry"),
            ("the 3D scanner", "scanning the fossils", "the scanner for the fossils"),
        ),
        "guide": (
            ("Wojciech", "Dr Amara Nze", "Liv Sorensen", "the curator himself", "Joaquim"),
            ("the expedition leader", "who leads the expedition", "leading the expedition"),
        ),
        "tickets": (
            ("Tessitura", "Digitickets", "a cash box", "Eventbrite", "Spektrix"),
            ("ticketing", "the ticket system", "selling tickets at the door"),
        ),
        "insurer": (
            ("Hiscox", "Lloyd's", "AXA Art", "the county fund", "Ecclesiastical"),
            ("insuring the loans", "the loan insurance", "insurance for the loans"),
        ),
        "paint": (
            ("Hague blue", "chalk white", "burnt umber", "charcoal", "celadon"),
            ("the gallery walls", "the wall colour", "painting the gallery walls"),
        ),
    },
    "opening": "One more thing for the trustees, {s}.",
    "asking": "Suppose you were me, what would you say to {s}?",
    "offer": "I have heard good things about {v} and middling ones about {w}.",
    "noted": "It's in the book.",
    "decide": (
        "The trustees have spoken, {v} for {s}. Hallelujah.",
        "I initialled the papers an hour ago, so {s} equals {v}.",
        "Bit the bullet over lunch. {v}, as far as {s} goes, and I slept none the worse.",
        "No more dithering about {s}! {v}.",
        "{s}: the director's finger came down on {v}, and there it stays.",
        "Everyone at the table nodded when {v} was named for {s}.",
    ),
    "agree": (
        ("To my mind {v} does the most for {s}.", "Couldn't have put it better. Make it so."),
        ("When I weigh up {s}, {v} comes out on top.", "On top it shall be."),
        ("{w} would be a headache. {v} solves {s} neatly.", "Neat is good, you have my blessing."),
    ),
    "ask": (
        (
            "The trustees keep pestering me about {s}.",
            "Name either {w} or {v} and they will stop.",
            "Then I name {v}.",
        ),
        (
            "Where do we start with {s}?",
            "With a pair of candidates, {v} and {w}.",
            "{v} is the one, start there.",
        ),
        (
            "What would our predecessors have done about {s}?",
            "Taken {w}, probably, or {v} on a brave day.",
            "Let's be brave. {v}.",
        ),
    ),
    "change": (
        "The wind has turned on {s}: {w} is gone, and in comes {v}.",
        "Tear up the page about {s}, we are having {v}.",
        "{w} wanted twice the money, so I walked over to {v} for {s}.",
        "A trustee leaned on me. {s} goes from {w} to {v}, don't ask.",
        "Long story short, {v} takes over {s} from {w}.",
    ),
    "recall": (
        "A journalist is asking about {s}. What's the line?",
        "For the annual report: how do things stand with {s}?",
        "I should know this, but {s}... what did we do?",
        "What have I told you regarding {s}?",
        "The auditor points at {s} and raises an eyebrow. What shall I show her?",
        "And {s}, how did that turn out?",
    ),
    "chatter": (
        ("A school class of {n} came through and touched everything.", "Fingerprints wipe off."),
        ("The lift stopped between floors for {n} minutes.", "Have the cable looked at."),
        ("How old is a trilobite of {n} segments?", "The segments do not tell the age."),
        ("We sold {n} postcards of the ammonite.", "Ammonites always sell well."),
        ("Somebody left {n} umbrellas in the cloakroom.", "Give them to charity in spring."),
        ("Humidity reads {n} in the basement.", "Run the dehumidifier until it falls."),
        ("Write me a label of {n} words for the dodo.", "Extinct, flightless, and much missed."),
        ("The pigeons on the roof number {n} now.", "A plastic owl helps for about a week."),
    ),
}

BOULANGERIE: Final[dict[str, Any]] = {
    "topics": {
        "four": (
            ("un Bongard", "le four à bois", "un Pavailler", "l'ancien Tibiletti", "un Miwe"),
            ("le four", "le nouveau four", "changer le four"),
        ),
        "farine": (
            ("le moulin Bourgeois", "Foricher", "Viron", "la ferme des Roches", "Decollogne"),
            ("la farine", "le fournisseur de farine", "acheter la farine"),
        ),
        "vendeuse": (
            ("Maëlle", "Aïcha Benali", "le fils Guérin", "Solène", "ma belle-sœur"),
            ("la vendeuse", "qui tient la caisse", "le poste à la vente"),
        ),
        "fermeture": (
            ("le mercredi", "le lundi", "le dimanche après-midi", "le jeudi", "le mardi matin"),
            ("le jour de fermeture", "la fermeture", "quand on ferme"),
        ),
        "camion": (
            ("un Kangoo", "le triporteur", "un Jumpy", "la vieille Estafette", "un vélo cargo"),
            ("la livraison", "livrer les restaurants", "la livraison aux restaurants"),
        ),
        "enseigne": (
            ("Au Bon Levain", "La Mie Câline", "Chez Fernand", "Le Fournil du Port", "Croûte"),
            ("l'enseigne", "le nom sur l'enseigne", "le nom de la boutique"),
        ),
        "vacances": (
            ("Oléron", "le Jura", "Saint-Malo", "la Corse", "les Cévennes"),
            ("les vacances", "les vacances d'août", "où partir en août"),
        ),
        "comptable": (
            ("Cabinet Morel", "Fiducial", "Mme Prigent", "Indy", "mon cousin Loïc"),
            ("le comptable", "la comptabilité", "qui tient les comptes"),
        ),
    },
    "opening": "Il faudrait encore parler de ceci : {s}.",
    "asking": "À ma place, tu ferais quoi pour {s} ?",
    "offer": "On m'a cité {w} et {v}.",
    "noted": "C'est noté.",
    "decide": (
        "Ça y est, j'ai tranché : {v}, pour {s}.",
        "Pour {s} on part sur {v}, tout le monde était d'accord hier soir.",
        "J'ai signé ce matin. {s}, c'est {v}, et plus un mot.",
        "Finalement {v}. Je parle de {s}, bien sûr.",
        "{w} me faisait peur, alors {v} pour {s}.",
    ),
    "agree": (
        ("Pour {s}, {v} me semble le plus sage.", "Soyons sages, alors."),
        ("Côté {s}, je pencherais vers {v}.", "Moi aussi, vendu."),
    ),
    "ask": (
        ("Je n'en dors plus, {s}.", "Il reste {w} et {v}.", "Bon, {v}, et n'en parlons plus."),
        ("On en est où, {s} ?", "À deux pistes, {v} et {w}.", "Allez, {v}."),
    ),
    "change": (
        "Changement de programme pour {s} : {w} nous a lâchés, ce sera {v}.",
        "Oublie {w}. Désormais {v} pour {s}.",
        "Ma femme m'a fait changer d'avis sur {s}, on prend {v}.",
        "Pour {s}, on remplace {w} par {v} dès lundi.",
    ),
    "recall": (
        "Dis, on avait dit quoi pour {s} ?",
        "Le banquier me demande pour {s}. Je réponds quoi ?",
        "J'ai un trou : {s}, c'était quoi déjà ?",
        "Où en est-on avec {s} ?",
        "Rappelle-moi ce qu'il en est de {s}.",
    ),
    "chatter": (
        ("J'ai vendu {n} croissants avant huit heures.", "Belle matinée ; prévois-en plus demain."),
        ("La pâte a levé {n} minutes de trop.", "Rabats-la et façonne sans attendre."),
        ("Un client voulait {n} bougies sur sa tarte.", "La crème fond, mieux vaut un chiffre."),
        ("Il a plu {n} jours de suite.", "Les gens restent chez eux, c'est normal."),
        ("Traduis-moi la ligne {n} du mode d'emploi.", "Elle dit de vider le bac chaque soir."),
        ("Le chat du voisin a volé {n} éclairs.", "Au moins, il a du goût."),
        ("Combien de sel pour {n} kilos ?", "Dix-huit grammes par kilo, pas davantage."),
    ),
}

HOF: Final[dict[str, Any]] = {
    "topics": {
        "traktor": (
            ("den Steyr", "einen Fendt", "den alten Lindner", "einen Reform", "einen John Deere"),
            ("den Traktor", "der neue Traktor", "die Anschaffung vom Traktor"),
        ),
        "sennerin": (
            ("die Vroni", "Katja Moser", "der Student aus Graz", "Resi Huber", "das Ehepaar Lang"),
            ("die Alm im Sommer", "wer die Alm macht", "die Sennerin auf der Alm"),
        ),
        "käse": (
            ("Bergkäse", "Graukas", "Camembert", "Mozzarella", "einen Blauschimmel"),
            ("den Käse", "unsere Käsesorte", "was wir käsen"),
        ),
        "zaun": (
            ("Lärchenstangen", "Elektrozaun", "Stacheldraht", "Steinmauer", "Weidenruten"),
            ("den Zaun", "der Zaun am Bach", "das Einzäunen am Bach"),
        ),
        "tierarzt": (
            ("Doktor Egger", "die Praxis Thaler", "Frau Winkler", "die Uniklinik", "Mag. Pichler"),
            ("den Tierarzt", "der Tierarzt für die Kühe", "wer nach den Kühen schaut"),
        ),
        "laden": (
            ("einen Automaten", "den Wochenmarkt", "eine Kiste im Abo", "Spar", "den Dorfladen"),
            ("den Verkauf", "der Verkauf ab Hof", "wie wir verkaufen"),
        ),
        "heizung": (
            ("Hackschnitzel", "Pellets", "Erdwärme", "Fernwärme", "den Kachelofen"),
            ("die Heizung", "die Heizung im Haus", "womit wir heizen"),
        ),
        "gäste": (
            ("zwei Ferienwohnungen", "Zeltplätze", "ein Baumhaus", "Heulager", "gar keine Gäste"),
            ("die Vermietung", "Urlaub bei uns am Hof", "die Gäste"),
        ),
    },
    "opening": "Was auch noch ansteht: {s}.",
    "asking": "Wie würdest du es halten, {s}?",
    "offer": "Im Dorf redet man von {w} und {v}.",
    "noted": "Passt, steht im Kalender.",
    "decide": (
        "Mit der Mama ausgeredet: {v}, also was {s} betrifft.",
        "Handschlag drauf, {s} läuft über {v}.",
        "So, aus und fertig mit dem Grübeln. {s}? {v}!",
        "Der Papa hat sich durchgesetzt, bei {s} nehmen wir {v}.",
        "Anzahlung ist geleistet, für {s} gilt {v}.",
    ),
    "agree": (
        ("Am vernünftigsten wäre {v}, denke ich, {s} betreffend.", "Na dann sind wir vernünftig."),
        ("{v} passt zu euch, gerade bei {s}.", "Find ich auch, gekauft."),
    ),
    "ask": (
        (
            "Lass uns über {s} reden.",
            "Da gibt es {w}, und es gibt {v}.",
            "{v}, da brauch ich nicht lang.",
        ),
        ("Und, deine Meinung, {s}?", "Schwanke zwischen {v} und {w}.", "Ich nicht. {v}."),
    ),
    "change": (
        "Alles anders bei {s}: {w} ist hinfällig, jetzt {v}.",
        "Der Bank war {w} zu teuer. Bei {s} wird es also {v}.",
        "Von {w} hab ich genug, wir steigen um auf {v}, {s} mein ich.",
        "Hab mich umentschieden. {s}: {v}.",
    ),
    "recall": (
        "Der Nachbar will wissen, wie wir das mit {s} machen.",
        "Fürs Förderformular, was schreib ich bei {s}?",
        "Hilf mir auf die Sprünge, {s}?",
        "Was haben wir jetzt eigentlich wegen {s} gesagt?",
        "Wie ist das ausgegangen, {s}?",
    ),
    "chatter": (
        ("Die Berta hat heut {n} Liter gegeben.", "Brav, die Berta."),
        ("Beim Heuen haben uns {n} Wespen erwischt.", "Zwiebel drauf, hilft immer."),
        ("Der Bus ins Tal kam {n} Minuten zu spät.", "Im Winter kommt er gar nicht."),
        ("Oma hat {n} Knödel gerollt.", "Da muss man eingeladen sein."),
        ("Am Gipfel lagen noch {n} Zentimeter Schnee.", "Dann dauert es mit dem Almauftrieb."),
        ("Erklär mir Punkt {n} der Milchverordnung.", "Der regelt, wie kalt der Tank sein muss."),
        ("Im Stadl fehlen {n} Bretter.", "Das war sicher der Sturm im Herbst."),
    ),
}

LAST_HARDER: Final[dict[str, dict[str, Any]]] = {
    "museum": {
        "change": MUSEUM["change"],
        "decoys": (
            (
                "The museum in Leeds has {w}, where {s} is concerned, and gets away with it.",
                "Lucky them.",
            ),
            ("I dreamt of {w} again. It must be {s} preying on me.", "Dreams are cheap."),
            ("A donor mumbled something about {w} while we discussed {s}.", "Donors mumble."),
            ("Is {w} even legal? In connection with {s}, that is.", "In most counties."),
        ),
        "undo": (
            "I have torn up the contract with {v}. As to {s}, we do nothing at all this year.",
            "{v} fell at the last hurdle, and there is no runner-up.",
            "Strike {v} from the book, {s} is anyone's guess again.",
            "The trustees took fright. No {v}, no replacement.",
        ),
        "open_ends": (
            ("Let us park {s} until the grant comes through.", "Parked."),
            ("As for {s}, I am none the wiser after the meeting.", "Perhaps the next one."),
            ("{s} can jolly well wait.", "It has waited before."),
        ),
        "rests": (
            (
                "Seeing that it is {v}, the foundation owes us {x} thousand more.",
                "what the foundation owes",
                "How many thousand more does the foundation owe us?",
            ),
            (
                "Going with {v} costs the volunteers {x} extra shifts.",
                "extra shifts of the volunteers",
                "Extra shifts for the volunteers, how many were there?",
            ),
            (
                "On the strength of {v} I promised the mayor {x} seats in the front row.",
                "seats promised to the mayor",
                "How many seats did I promise the mayor?",
            ),
        ),
    },
    "boulangerie": {
        "change": BOULANGERIE["change"],
        "decoys": (
            ("Mon oncle ne jure que par {w}, à propos de {s}.", "Les oncles, tu sais."),
            ("Le concurrent d'en face a {w}, pour {s}, et il s'en mord les doigts.", "Bien fait."),
            ("Qui irait choisir {w} ? Je pense à {s}.", "Plus de monde qu'on ne croit."),
            ("À la radio ils vantaient {w}, il était question de {s}.", "C'était de la publicité."),
        ),
        "undo": (
            "C'est fichu pour {v}, et je n'ai rien d'autre.",
            "J'ai annulé {v}. Pour {s}, retour à la case départ.",
            "Laisse tomber {v}, on verra plus tard pour {s}.",
            "{v}, c'est fini, et {s} reste en suspens.",
        ),
        "open_ends": (
            ("Pas aujourd'hui pour {s}, je suis lessivé.", "Une autre fois."),
            ("On remet {s} à la rentrée.", "À la rentrée, alors."),
            ("Personne n'a voulu trancher pour {s}.", "Cela viendra."),
        ),
        "rests": (
            (
                "Avec {v}, il faut embaucher {x} heures de plus par mois.",
                "heures à embaucher",
                "Combien d'heures faut-il embaucher en plus ?",
            ),
            (
                "Puisque c'est {v}, l'assurance grimpe de {x} euros.",
                "la hausse de l'assurance",
                "De combien grimpe l'assurance ?",
            ),
            (
                "Grâce à {v} on économise {x} sacs par semaine.",
                "sacs économisés",
                "Combien de sacs on économise par semaine ?",
            ),
        ),
    },
    "hof": {
        "change": HOF["change"],
        "decoys": (
            (
                "Der Bürgermeister hat ja {w}, wenn es um {s} geht, und prahlt damit.",
                "Lass ihn prahlen.",
            ),
            ("Im Fernsehen lief was über {w}, so am Rande auch über {s}.", "Da wird viel erzählt."),
            ("Taugt {w} überhaupt was, frag ich mich bei {s}.", "Kommt drauf an."),
            ("Mein Cousin schimpft jeden Tag über {w}, er meint {s}.", "Cousins schimpfen gern."),
        ),
        "undo": (
            "{v} ist gestorben, und was anderes hab ich nicht.",
            "Die Sache mit {v} hab ich wieder abgeblasen, {s} bleibt offen.",
            "Mit {v} wird es leider nichts. Wegen {s} müssen wir neu überlegen.",
            "Streich {v}, bei {s} fangen wir bei null an.",
        ),
        "open_ends": (
            ("Für {s} hab ich heut keinen Kopf mehr.", "Dann ein andermal."),
            ("{s} vertagen wir auf nach der Ernte.", "Nach der Ernte, gut."),
            ("Bei {s} waren wir uns wieder nicht einig.", "Das wird schon."),
        ),
        "rests": (
            (
                "Wegen {v} müssen wir {x} Ballen zukaufen.",
                "Ballen, die wir zukaufen",
                "Wie viele Ballen müssen wir zukaufen?",
            ),
            (
                "Mit {v} zahlen wir {x} Euro Pacht im Jahr.",
                "Pacht im Jahr",
                "Wie viel Pacht zahlen wir im Jahr?",
            ),
            (
                "Weil es {v} ist, kommt die Förderung erst in {x} Wochen.",
                "die Förderung",
                "In wie vielen Wochen kommt die Förderung?",
            ),
        ),
    },
}
