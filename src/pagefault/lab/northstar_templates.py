"""Sentences of the north-star script, and of the measurement of the rules that read them.

`{v}` is a value, `{s}` its subject, `{w}` another value. The rules of `truth/` were not written
with these sentences in view, and contain none of them: `tests/lab/test_northstar.py` checks that
the two files are disjoint.
"""

from __future__ import annotations

from typing import Final

TOPICS: Final[dict[str, tuple[str, ...]]] = {
    "database": ("PostgreSQL 16", "MySQL 8.4", "CockroachDB", "MongoDB", "SQLite", "MariaDB"),
    "API framework": ("FastAPI", "Django REST", "Flask", "Express.js", "Spring Boot 3", "ASP.NET"),
    "frontend stack": (
        "React with TypeScript",
        "Vue 3",
        "Next.js",
        "SvelteKit",
        "Angular",
        "Solid",
    ),
    "deployment strategy": ("Kubernetes on GCP", "Docker Swarm", "Fly.io", "AWS ECS", "Nomad"),
    "testing approach": ("Pytest with 80% coverage", "Playwright", "Vitest", "Cypress 13", "Jest"),
    "message queue": ("RabbitMQ", "Apache Kafka", "NATS", "Redis Streams", "Amazon SQS"),
    "logging format": ("JSON lines", "logfmt", "ECS", "OpenTelemetry", "Syslog RFC 5424"),
    "build tool": ("Bazel 7", "Gradle", "CMake", "Pants", "Meson", "Nx"),
    "game engine": ("Godot 4", "Unreal Engine 5", "Unity", "Bevy", "C++ with SDL"),
    "mail provider": ("Postmark", "Amazon SES", "Mailgun", "SendGrid", "Fastmail"),
    "payment provider": ("Stripe", "Adyen", "PayPal Braintree", "Mollie", "Square"),
    "offsite venue": ("Lake Como", "Porto", "Bad Ischl", "Hotel Belvedere", "San Sebastián"),
}

DECIDE: Final = (
    "OK team, we're going with {v} for the {s}.",
    "I've made up my mind: let's use {v} for the {s}.",
    "For the {s} we'll use {v}.",
    "Let's settle on {v} as our {s}.",
    "We talked it through and picked {v} for the {s}.",
    "{v} it is for the {s}!",
    "The {s} will be {v}, final answer.",
    "Decision: {v} for the {s}.",
    "Our choice for the {s} is {v}.",
    "After some thought I've chosen {v} for our {s}.",
    "Regarding the {s}: we're sticking with {v}.",
    "As for the {s}, go with {v}.",
    "Lets go with {v} for the {s} then",
    "We have agreed on {v} for the {s}.",
    "I'd like us to adopt {v} for the {s}.",
    "Alright, {v} wins for the {s}.",
    "We'll be using {v} for the {s} from here on.",
    "Please note: we decided to use {v} for the {s}.",
    "So the {s} is decided, it's {v}.",
    "Put down {v} as the {s}.",
    "Make {v} our {s}.",
    "I'm going with {v} for the {s}, thanks for the comparison.",
    "On the {s} front, we landed on {v}.",
    "We've opted for {v} for the {s}.",
    "When it comes to the {s}, let's stick with {v}.",
    "Right, let's lock in {v} for the {s}.",
    "The team voted, and we chose {v} for the {s}.",
    "let's do {v} for the {s}",
    "We are commiting to {v} for the {s}.",
    "My decision on the {s} is {v}.",
)

AGREE: Final = (  # what the assistant proposes, and how the user agrees
    ("I recommend {v} for the {s}; it is mature.", "Agreed."),
    ("For the {s} I'd suggest {v}.", "Sounds good, let's do that."),
    ("My recommendation for the {s} would be {v}.", "Yes, let's go with that."),
    ("I'd go with {v} for the {s}, given your constraints.", "Works for me!"),
    ("{v} would be a good fit for the {s}.", "Perfect, go with it."),
    ("How about {v} for the {s}?", "Yep, good call."),
    ("You could use {v} for the {s}. It scales well.", "Sold."),
    ("{v} is the best choice for the {s} here.", "Great, {v} it is."),
    ("Shall we use {v} for the {s}?", "Yes please."),
    ("My pick for the {s}: {v}.", "I agree, let's go with {v}."),
    ("Considering everything, I would choose {v} for the {s}.", "ok, deal"),
    ("I'd propose {v} for the {s}.", "Approved."),
    ("Let's use {v} for the {s}.", "Sure, do it."),
    ("Given your team, {v} makes the most sense for the {s}.", "You've convinced me, {v} then."),
    ("I suggest going with {v} for the {s}.", "agred, lets use {v}"),
)

ASK: Final = (  # a question about a subject, then a decision that does not name it
    ("What should we use for the {s}?", "I see two options: {v} and {w}.", "Let's go with {v}."),
    ("Which {s} would you take?", "Both {w} and {v} are fine.", "OK, we'll take {v}."),
    ("Any thoughts on the {s}?", "{v} is popular, {w} is simpler.", "{v} it is, then."),
    ("We need to pick a {s}.", "Would you rather have {v} or {w}?", "{v}, please."),
    ("For the {s}, what do you recommend?", "{w} or {v}, both work.", "I choose {v}."),
)

CHANGE: Final = (
    "Instead of {w}, let's use {v} for the {s}.",
    "We're switching the {s} from {w} to {v}.",
    "Change of plans: {v} for the {s}, not {w}.",
    "Actually, let's replace {w} with {v} for the {s}.",
    "I changed my mind about {w}: we'll use {v} for the {s}.",
    "Let's use {v} for the {s} rather than {w}.",
)

UNDO: Final = (
    "Let's not use {v} after all.",
    "We decided against {v}.",
    "Scrap {v} for the {s}.",
    "We're no longer using {v} for the {s}.",
    "Forget about {v} for the {s}.",
    "{v} is off the table.",
)

NOTHING: Final = (  # sentences that yield no claim
    "Should we use {v} for the {s}?",
    "What do you think about {v} for the {s}?",
    "If we used {v} for the {s}, what would break?",
    "Tom said he would pick {v} for the {s}.",
    "My colleague thinks we'll go with {v} for the {s}.",
    "I'm not sure we should use {v} for the {s}.",
    "Maybe we'll use {v} for the {s}, maybe not.",
    "We haven't decided on {v} for the {s} yet.",
    "How does {v} compare with {w} as a {s}?",
    "The blog post says: let's use {v} for the {s}.",
    'The memo read "we decided to use {v} for the {s}", which is wrong.',
    "Suppose we go with {v} for the {s}.",
    "Could we use {v} for the {s}, or is {w} better?",
    "I might choose {v} for the {s}.",
    "At my last company they used {v} for the {s}.",
    "> Let's go with {v} for the {s}.",
    "```\n# let's use {v} for the {s}\n```",
    "Would you go with {v} or {w} for the {s}?",
    "Tell me about the history of {v}.",
    "Unless we use {v} for the {s}, this gets slow.",
    "I wonder whether we'll go with {v} for the {s}.",
    "According to the vendor we'll use {v} for the {s}.",
    "Let's talk about the {s}.",
    "Explain how {v} handles load.",
    "My sister wants us to use {v} for the {s}.",
    "Let's use either {v} or {w} for the {s}.",
    "We could go with {v} for the {s}.",
    "When would you choose {v} over {w}?",
    "I was going to say let's use {v}, but I need to think.",
    "Have we decided on {v} for the {s}?",
)

NO_AGREEMENT: Final = (  # what the assistant proposes, and an answer that is no agreement
    ("I recommend {v} for the {s}.", "Yes, but what about {w}?"),
    ("I recommend {v} for the {s}.", "Interesting. Why?"),
    ("I'd suggest {v} for the {s}.", "No, I don't like that."),
    ("I'd suggest {v} for the {s}.", "OK, tell me more about it."),
    ("You could use {v} for the {s}. Do you want a comparison with {w}?", "Yes."),
    ("Either {v} or {w} would do for the {s}.", "Sounds good."),
    ("{v} would be good for the {s}.", "Thanks, I'll think about it."),
    ("I recommend {v} for the {s}.", "Is that agreed by everyone?"),
    ("The page says: use {v} for the {s}.", "Good to know."),
    ("I can't recommend {v} for the {s}.", "Agreed."),
)

RECALL: Final = (
    "As we decided earlier, what's our {s}?",
    "As we decided earlier, which {s} are we using?",
    "Remind me, as we decided earlier: what did we pick for the {s}?",
    "What {s} did we decide on earlier?",
    "As we decided earlier about the {s} - which one was it again?",
    "Earlier we settled the {s}. What was it?",
    "as we decided earlier, our {s} is what exactly?",
)

CHATTER: Final = (  # {n} is a number
    ("Tell me about implementation detail {n} of the importer.", "Detail {n} concerns how rows are batched before they are written; the batch size matters more than the order."),
    ("How does retry number {n} behave?", "It waits twice as long as the one before, with some jitter, and gives up after the limit."),
    ("I read chapter {n} on caching yesterday.", "That chapter explains why invalidation is harder than lookup."),
    ("The ticket {n} came back with a question about the sidebar.", "The sidebar collapses below a width; that is probably what they saw."),
    ("Can you explain error code {n}?", "Code {n} means that the peer closed the connection before the answer was complete."),
    ("What happened in sprint {n}, roughly?", "Mostly clean-up, a few fixes in the importer, and the new icons."),
    ("My train was late by {n} minutes today.", "That is annoying. I hope the way back is quicker."),
    ("Summarise note {n} for me.", "Note {n} lists open questions about permissions and two about naming."),
    ("Is there a rule of thumb for {n} workers?", "One for each core, then measure; more rarely helps for this kind of load."),
    ("The graph for week {n} looks odd.", "There is a gap on Tuesday, when the collector was restarted."),
)  # fmt: skip
