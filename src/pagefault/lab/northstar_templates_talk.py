"""Sentences of a second north-star script, in natural speech: decisions with reasons, greetings and
questions beside them, changes of mind, and questions in other words than the decisions.

`{v}` is the current value, `{w}` an alternative or earlier one; `{s}` is the subject. Each topic
has several names, so that a decision and its question may use different ones. They were written
before any measurement with them, and no pattern of `truth/` was made for them.
"""

from __future__ import annotations

from typing import Final

TOPICS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "database": (
        ("PostgreSQL 16", "MySQL 8.4", "CockroachDB", "MongoDB", "SQLite"),
        ("the database", "the orders database", "storing the orders"),
    ),
    "queue": (
        ("RabbitMQ", "Apache Kafka", "NATS", "Redis Streams", "Amazon SQS"),
        ("the message queue", "messaging between the services", "the queue behind the services"),
    ),
    "hosting": (
        ("Hetzner", "Google Cloud", "Fly.io", "DigitalOcean", "Scaleway"),
        ("hosting", "where we host the staging servers", "the servers for staging"),
    ),
    "frontend": (
        ("React with TypeScript", "Vue 3", "SvelteKit", "Angular", "Solid"),
        ("the frontend", "the web frontend framework", "the framework for the web client"),
    ),
    "tests": (
        ("Playwright", "Cypress", "Selenium", "Vitest", "TestCafe"),
        ("browser tests", "testing in the browser", "the end-to-end tests"),
    ),
    "mail": (
        ("Postmark", "Amazon SES", "Mailgun", "SendGrid", "Brevo"),
        ("sending mail", "the mail provider", "outgoing mail to customers"),
    ),
    "payments": (
        ("Stripe", "Adyen", "Mollie", "Braintree", "Square"),
        ("payments", "taking card payments", "the payment provider for cards"),
    ),
    "venue": (
        ("Lake Como", "Porto", "Bad Ischl", "San Sebastián", "Ghent"),
        ("the offsite", "the team offsite in autumn", "the autumn trip of the team"),
    ),
    "car": (
        ("the Kangoo", "the Berlingo", "an e-Golf", "the old Passat", "a Zoe"),
        ("the family car", "the next car", "a car for the family"),
    ),
    "kitchen": (
        ("oak", "slate", "terrazzo", "birch plywood", "white laminate"),
        ("the kitchen worktop", "the worktop", "the new counter in the kitchen"),
    ),
    "editor": (
        ("Neovim", "Zed", "PyCharm", "Helix", "Kate"),
        ("my editor", "the editor for the workshop", "editing code in the workshop"),
    ),
    "school": (
        ("the Waldorf school", "St. Anne's", "the Montessori house", "Lindenhof", "Brookfield"),
        ("Mia's school", "the school for Mia", "which school Mia goes to"),
    ),
}

DECIDE: Final = (
    "Morning! Slept on it, and {v} it'll be for {s}. Thanks for walking me through it.",
    "ok I'm done comparing. {s}: {v}. Moving on",
    "Right, so after yesterday's call everybody agrees, {v} is what we're taking for {s}.",
    "You know what? Just put {v} down for {s}. I don't want to hear about {w} ever again :)",
    "About {s} - I talked to Priya and she's fine with {v}, so am I. Done deal.",
    "Honestly {w} scares me a bit, so {v} gets the job for {s}.",
    "quick update on {s}, the bosses signed off on {v} this morning",
    "As far as {s} is concerned, I've committed to {v}. What does the first step look like?",
    "We can close that one: {s} will be done with {v}. Can you write a short summary for the team?",
    "it's going to be {v}. for {s} i mean, sorry, wrong thread",
    "Took a while, but I ended up ordering {v} for {s}!",
    "FYI {v} won the vote on {s}, 4 to 1.",
    "I've thought about {s} long enough; {v} is good enough for us and cheaper than {w}.",
    "Let me be clear on {s} so nobody asks again: {v}.",
    "Hmm, your point on costs convinced me. For {s} I'm taking {v}, and {w} stays plan B.",
    "Great news, the contract for {s} is signed. It's {v}!",
)

AGREE: Final = (  # what the assistant proposes, and how the user agrees
    (
        "Looking at your constraints, {v} would serve you well for {s}. {w} is heavier.",
        "Makes sense to me, do that please",
    ),
    (
        "If I had to choose for {s}, I'd lean towards {v}.",
        "Yeah, I came to the same conclusion. Go ahead with that one.",
    ),
    (
        "Two candidates stand out for {s}: {w} and {v}. The latter needs less care.",
        "Then the latter, I have enough to care for already.",
    ),
    ("For {s}, {v} is a safe pick.", "Safe is what we need. Book it."),
    (
        "Between {w} and {v}, I think {v} fits {s} better because you already know it.",
        "True, we do know it. Fine, you've got a yes from me.",
    ),
    ("My advice for {s}: take {v}, and revisit in a year.", "👍 will do"),
)

ASK: Final = (  # a question about a subject, then a decision that does not name it
    (
        "Could you help me with {s}? I'm torn.",
        "Happy to. {v} and {w} are the usual candidates.",
        "I like the sound of {v}, no need to look further.",
    ),
    (
        "Today I need to sort out {s}.",
        "The shortlist was {w} and {v}. What matters most to you?",
        "Peace of mind. So {v}.",
    ),
    (
        "What's left to decide on {s}?",
        "Only whether it is {v} or {w}.",
        "the first, {v}. final.",
    ),
    (
        "Give me the short version on {s}.",
        "{w} costs less at first, {v} costs less in the long run.",
        "In the long run we're all still here, so {v} for me.",
    ),
)

CHANGE: Final = (  # {w} is the earlier value
    "Bad news, {w} fell through. We're doing {v} for {s} now.",
    "Remember what I told you about {s}? Scrap that, it's {v} now.",
    "Plot twist on {s}: {w} turned out too expensive, so {v} replaces it.",
    "I have to correct myself regarding {s}. Not {w} any more, {v} from today on.",
    "we moved off {w} last night. {v} does the work for {s} now",
    "Turns out nobody likes {w}. New plan for {s}, {v}.",
    "Update for your notes: {s} goes to {v}; {w} is out.",
    "After the incident we swapped {w} for {v}, for {s} that is.",
)

RECALL: Final = (
    "Hey, what did I end up choosing for {s}?",
    "Someone just asked me about {s} and my mind went blank. What was it again?",
    "Which one did we land on for {s}?",
    "I'm writing the onboarding page, what do I put under {s}?",
    "Can you remind me where we stand on {s}?",
    "What's the current state of affairs with {s}?",
    "For the minutes: {s} is handled by what exactly?",
    "Did I ever tell you what we're doing about {s}? What was it?",
    "so, {s}. who or what was the winner",
    "Before I forget, what's our answer on {s} these days?",
)

CHATTER: Final = (  # {n} is a number
    (
        "My neighbour's cat got onto the roof again, {n} minutes of shouting.",
        "Poor thing. Cats usually find their own way down once it is quiet.",
    ),
    (
        "Can you rewrite paragraph {n} so it sounds less stiff?",
        "Here is a lighter version. It says the same in half the words, and keeps the example.",
    ),
    (
        "The build took {n} seconds longer today, any idea?",
        "A cold cache would explain it. Compare the steps; usually one of them stands out.",
    ),
    (
        "What's a good book about rivers? I read {n} pages of one and gave up.",
        "There are a few that read like novels. I would begin with one about the Danube.",
    ),
    (
        "Translate item {n} of the menu, please.",
        "That is a cold soup of cucumber and yoghurt, with dill.",
    ),
    (
        "I ran {n} kilometres this week and everything hurts.",
        "Well done. Rest for a day, and go easy on the hills for the next run.",
    ),
    (
        "Explain footnote {n} as if I were ten.",
        "It says that the numbers were counted twice, so one half of them is not new.",
    ),
    (
        "We got comment {n} on the survey, something about colours.",
        "People often mention colours when the contrast is low; it may be worth a look.",
    ),
    (
        "How do I get a stain out that is {n} days old?",
        "Soak it in cold water first, then soap; heat would only set it.",
    ),
    (
        "Guess what, meeting number {n} was cancelled.",
        "A free hour, then. A walk would be my suggestion.",
    ),
)
