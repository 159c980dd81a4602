"""Generated conversations of engineers: code, output, paths, chatter, and facts worth keeping.

Deterministic by seed. What is asked about later is planted: one turn each, its sentence among
others, and named as the evidence of a question. Phrasings vary on purpose, with and without words
such as "decided"; no rule was made for them.
"""

from __future__ import annotations

import random
from typing import Final

from pagefault.lab.transcripts import Conversation, Line, Question
from pagefault.model.kinds import Role

TURNS: Final = 60  # per session
PLANTED: Final = 8

_SERVICES: Final = "ledger gateway mailer indexer scheduler importer billing search".split()
_PEOPLE: Final = "Priya Tomás Ingrid Kwame Yuki Oleg Fatima Marek".split()
_FILES: Final = (
    "src/{s}/pool.py", "src/{s}/retry_policy.py", "deploy/{s}.yaml", "tests/test_{s}_limits.py",
    "/etc/{s}/limits.toml", "cmd/{s}/main.go", "web/{s}/index.tsx",
)  # fmt: skip
_PLANTED: Final = (
    ("We decided to run {s} on port {n}, not {m}.", "Which port does {s} run on?"),
    ("Let's keep {f} as it is and never import it from {t}.", "May {t} import {f}?"),
    ("Retries in {s} are capped at {k} with {n} ms between them.", "What caps retries of {s}?"),
    ("{p} owns OPS-{n} until the {k}th.", "Who owns OPS-{n}?"),
    ("Nobody may touch {f} on production without a review by {p}.", "Who reviews {f}?"),
    ("I'd rather have the timeout of {s} at {k} s than lose orders.", "What timeout has {s}?"),
    ("The staging box for {s} answers on 10.0.{k}.7:{n}.", "Where is staging of {s}?"),
    ("{s} does not use Redis any more; sessions live in PostgreSQL.", "Does {s} use Redis?"),
    ("From now on, releases of {s} go out on Tuesdays, no longer on Fridays.", "When is {s} out?"),
    ("The culprit was commit {h} in {f}: it dropped the lock.", "Which commit broke {f}?"),
    ("I prefer `make_{s}_client()` over a global, so please use that.", "How is {s} called?"),
    ("Legal wants the logs of {s} kept {n} days.", "How long are logs of {s} kept?"),
)  # fmt: skip
_CHATTER: Final = (
    "Sounds good.", "Thanks, that helps a lot!", "Great, let me have a look.", "Hmm, interesting.",
    "Okay, so basically I went through it again.", "Give me a minute, I'm really slow today.",
    "Wow, nice catch!", "I hope the coffee machine is fixed.", "Could you look when you can?",
    "It was honestly a very long morning.", "Let me know what you think.", "Sure, go ahead.",
    "I'm looking at the dashboards right now.", "Not sure what that means, to be honest.",
    "That's what I thought as well.", "Anyway, back to the topic.", "Is it just me or is CI slow?",
    "I'll paste the output below.", "Here is what I see on my side:", "Does anybody else see this?",
)  # fmt: skip
_TALK: Final = (
    "The graph for {s} looks a bit strange around noon, but it recovered on its own.",
    "I opened {f} and the loop there is harder to follow than I remembered.",
    "Maybe the queue in front of {s} is too short, or the consumers are slow to start.",
    "There is some duplication between {s} and {t} that somebody could clean up one day.",
    "The test suite of {s} takes a while because it starts a container for every case.",
    "I was reading about how others shard this, and there are many ways to do it.",
    "When I run it locally it works, so it is probably something about the environment.",
    "What do we know about how {t} behaves when {s} is restarted?",
)  # fmt: skip


def conversation(seed: int) -> Conversation:
    """One session of `TURNS` turns with `PLANTED` sentences that are asked about."""
    chance = random.Random(seed)
    places = sorted(chance.sample(range(2, TURNS), PLANTED))
    planted = dict(zip(places, chance.sample(_PLANTED, PLANTED), strict=True))
    lines: list[Line] = []
    questions: list[Question] = []
    for number in range(TURNS):
        ref = f"E{seed}:{number}"
        text = _turn(chance)
        if number in planted:
            words = _words(chance)
            said, asked = (form.format(**words) for form in planted[number])
            text = _among(chance, said)
            questions.append(
                Question(text=asked, evidence=(ref,), category="1", answerable=True, answer=said)
            )
        role = Role.ASSISTANT if number % 2 else Role.USER
        lines.append(Line(role=role, text=text, speaker=("Ada", "Ben")[number % 2], ref=ref))
    return Conversation(name=f"engineering-{seed}", lines=tuple(lines), questions=tuple(questions))


def _among(chance: random.Random, said: str) -> str:
    """A sentence that matters, among some that do not."""
    others = [_talk(chance) if chance.random() < 0.5 else chance.choice(_CHATTER) for _ in range(2)]
    others.insert(chance.randrange(3), said)
    return " ".join(others)


def _turn(chance: random.Random) -> str:
    parts = [chance.choice(_CHATTER)]
    parts += [_talk(chance) for _ in range(chance.randrange(1, 4))]
    shown = chance.random()
    if shown < 0.25:
        parts.append(_output(chance))
    elif shown < 0.4:
        parts.append(_code(chance))
    return " ".join(parts)


def _talk(chance: random.Random) -> str:
    return chance.choice(_TALK).format(**_words(chance))


def _output(chance: random.Random) -> str:
    words = _words(chance)
    rows = [
        f"2026-03-{chance.randrange(10, 29)}T{chance.randrange(10, 24)}:{chance.randrange(10, 60)}:"
        f"{chance.randrange(10, 60)}Z {words['s']}[{chance.randrange(1000, 9999)}]: "
        f"{chance.choice(('retrying', 'connected', 'slow query', 'heartbeat'))} "
        f"took={chance.randrange(5, 900)}ms"
        for _ in range(chance.randrange(5, 14))
    ]
    return "\n```\n" + "\n".join(rows) + "\n```"


def _code(chance: random.Random) -> str:
    words = _words(chance)
    return (
        f"\n```python\ndef drain_{words['s']}(queue, limit={words['k']}):\n"
        f"    while queue and limit > 0:\n        item = queue.popleft()\n"
        f"        handle(item, timeout={words['n']})\n        limit -= 1\n    return limit\n```"
    )


def _words(chance: random.Random) -> dict[str, str | int]:
    service, other = chance.sample(_SERVICES, 2)
    return {
        "s": service,
        "t": other,
        "f": chance.choice(_FILES).format(s=service),
        "p": chance.choice(_PEOPLE),
        "n": chance.randrange(1024, 9999),
        "m": chance.randrange(1024, 9999),
        "k": chance.randrange(4, 20),
        "h": f"{chance.randrange(16**7, 16**8):08x}",
    }
