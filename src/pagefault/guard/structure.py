"""Secrets recognised by their form: our own rules, always active.

Four kinds, from the narrowest to the widest:

1. *Tokens*: the prefix, alphabet and length that an issuer publishes (`AKIA…`, `ghp_…`).
2. *Blocks*: private keys in PEM, PGP and PuTTY form, with plain or escaped line ends.
3. *Places*: the password of an address, Authorization and Cookie headers, password hashes.
4. *Assignments*: a value after a telling name, in code, JSON, YAML, XML, `.env`, command lines,
   `.netrc` or a sentence.

An assignment is judged in two steps. The name determines the expected kind of value: chosen by a
person (`password`), generated (`token`, `api_key`), or possibly generated (`some_key`). The value
must then look like it: a chosen one has a letter and a digit or a sign, a generated one mixes
letters and digits without being words, a doubtful one is long and close to random. Placeholders,
references, calls, types and plain words are none of these. So a password that is one plain word is
missed: it would be replaced in ordinary sentences too, and is hardly secret.

Prefixes and lengths are from the issuers' documentation. The thresholds were set on `leaky-repo`
and on ordinary code, and evaluated on material by others: docs/benchmarks.md.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Final

from pagefault.guard.detect import Finding
from pagefault.guard.names import words_of
from pagefault.language.passwords import SPOKEN_PASSWORDS, SpokenPassword

# --- tokens ---------------------------------------------------------------------------------------

_TOKENS: Final[tuple[tuple[str, str, str], ...]] = (
    # rule, a text in every match, and the whole pattern
    *(("aws-key-id", p, p + r"[A-Z0-9]{16}(?![A-Za-z0-9])") for p in ("AKIA", "ASIA", "ABIA")),
    *(("github-token", f"gh{p}_", rf"gh{p}_[A-Za-z0-9]{{36,255}}") for p in "pousr"),
    ("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{36,}"),
    *(
        ("gitlab-token", f"gl{p}-", rf"gl{p}-[A-Za-z0-9_-]{{20,}}(?:\.[0-9a-z.]+)?")
        for p in (
            "pat",
            "dt",
            "rt",
            "rtr",
            "cbt",
            "ptt",
            "ft",
            "imt",
            "agent",
            "oas",
            "soat",
            "ffct",
        )
    ),
    ("gitlab-token", "GR1348941", r"GR1348941[A-Za-z0-9_-]{20,}"),
    *(("slack-token", f"xox{p}-", rf"xox{p}-[A-Za-z0-9-]{{10,}}") for p in "abceoprs"),
    ("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9]+-\d+-[a-z0-9]+"),
    (
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/_-]{40,}",
    ),
    *(
        ("stripe-key", f"{p}_{q}_", rf"{p}_{q}_[A-Za-z0-9]{{16,}}")
        for p in ("sk", "rk")
        for q in ("live", "test", "prod")
    ),
    ("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    ("openai-key", "T3BlbkFJ", r"sk-[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}"),
    *(
        ("openai-key", f"sk-{p}-", rf"sk-{p}-[A-Za-z0-9_-]{{24,}}")
        for p in ("proj", "svcacct", "admin", "or-v1", "None")
    ),
    ("anthropic-key", "sk-ant-", r"sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{24,}"),
    ("api-key", "sk-", r"sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{32,}(?![A-Za-z0-9_-])"),
    ("google-key", "AIza", r"AIza[A-Za-z0-9_-]{35,45}(?![A-Za-z0-9_-])"),
    ("google-token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("google-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    ("pypi-token", "pypi-", r"pypi-[A-Za-z0-9_-]{80,}"),
    ("docker-token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}"),
    ("huggingface-token", "hf_", r"hf_[A-Za-z]{34}(?![A-Za-z0-9])"),
    ("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}"),
    ("mailgun-key", "key-", r"key-[0-9a-f]{32}(?![0-9a-f])"),
    ("mailchimp-key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?!\d)"),
    ("brevo-key", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("twilio-key", "SK", r"SK[0-9a-f]{32}(?![0-9a-zA-Z])"),
    *(
        ("shopify-token", f"shp{p}_", rf"shp{p}_[0-9a-fA-F]{{32}}")
        for p in ("at", "ss", "ca", "pa")
    ),
    *(("digitalocean-token", f"{p}_v1_", rf"{p}_v1_[0-9a-f]{{64}}") for p in ("dop", "doo", "dor")),
    ("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?![0-9a-f])"),
    ("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{50,}"),
    ("atlassian-token", "ATCTT3", r"ATCTT3[A-Za-z0-9_=-]{50,}"),
    ("bitbucket-password", "ATBB", r"ATBB[A-Za-z0-9]{24,32}(?![A-Za-z0-9])"),
    ("grafana-token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    ("grafana-token", "glc_", r"glc_[A-Za-z0-9+/]{32,}={0,2}"),
    ("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{40}"),
    ("figma-token", "fig", r"fig[dour]_[A-Za-z0-9_-]{40,}"),
    ("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{43,}"),
    ("notion-token", "secret_", r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("square-token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}"),
    ("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    ("pulumi-token", "pul-", r"pul-[0-9a-f]{40}(?![0-9a-f])"),
    ("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{8,14}\.atlasv1\.[A-Za-z0-9_-]{50,}"),
    ("vault-token", "hvs.", r"hvs\.[A-Za-z0-9_-]{24,}"),
    ("vault-token", "hvb.", r"hvb\.[A-Za-z0-9_-]{24,}"),
    ("newrelic-key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    ("sentry-token", "sntry", r"sntry[su]_[A-Za-z0-9_=+/-]{40,}"),
    ("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    ("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{48,}"),
    ("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,}"),
    ("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])"),
    ("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    ("nvidia-key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{60,}"),
    ("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("telegram-token", "bot", r"(?<=bot)\d{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("telegram-token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{33,45}(?![A-Za-z0-9_-])"),
    (
        "discord-webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{15,}/[A-Za-z0-9_-]{60,}",
    ),
    (
        "teams-webhook",
        "webhook.office.com/",
        r"webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{80,}",
    ),
    ("azure-key", "AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{86}=="),
    ("azure-key", "SharedAccessKey=", r"(?<=SharedAccessKey=)[A-Za-z0-9+/]{43}="),
    ("azure-signature", "sig=", r"(?<=[?&]sig=)[A-Za-z0-9%+/]{43,}(?:=|%3D)?"),
    ("azure-secret", "8Q~", r"[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}"),
    ("adafruit-key", "aio_", r"aio_[A-Za-z0-9]{28}"),
    ("akamai-token", "akab-", r"akab-[A-Za-z0-9-]{20,}"),
    ("clojars-token", "CLOJARS_", r"CLOJARS_[A-Za-z0-9]{60}"),
    ("contentful-token", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{43,}"),
    ("dynatrace-token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Za-z0-9]{64}"),
    ("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,}"),
    ("frameio-token", "fio-u-", r"fio-u-[A-Za-z0-9_=-]{60,}"),
    ("newrelic-key", "NR", r"NR(?:II|IQ|SP|AA|RA|JS)-[A-Za-z0-9_-]{26,}"),
    ("mapbox-token", "sk.ey", r"sk\.ey[A-Za-z0-9]{60,}(?:\.[A-Za-z0-9_-]{20,})?"),
    ("swarm-key", "SWM", r"SWM(?:TKN|KEY)-1-[A-Za-z0-9+/-]{40,}"),
    ("firebase-token", ":APA91b", r"[A-Za-z0-9_-]{11,22}:APA91b[A-Za-z0-9_-]{100,}"),
    ("facebook-token", "EAA", r"(?<![A-Za-z0-9/+])EAA[A-Z][A-Za-z0-9]{80,}"),
    ("amazon-mws", "amzn.mws.", r"amzn\.mws\.[0-9A-Za-z-]{32,36}"),
    ("alibaba-key", "LTAI", r"LTAI[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    ("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{12,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}"),
    # RFC 9106 and crypt(5): a password's hash allows guessing it.
    ("password-hash", "$2", r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"),
    (
        "password-hash",
        "$",
        r"\$(?:1|apr1|5|6|y|gy|7|P|H|md5|sha1)\$(?:rounds=\d+\$)?[./A-Za-z0-9]{0,32}\$?[./A-Za-z0-9]{22,}",
    ),
    (
        "password-hash",
        "$argon2",
        r"\$argon2(?:id|i|d)\$v=\d+\$m=[^$\s]+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+",
    ),
)

_compiled: Final = cache(re.compile)  # on the first sight of its anchor: most never occur
_ENCODED_BEFORE: Final = re.compile(r"\\[nrtbf]\Z|%[0-9A-Fa-f]{2}\Z")
_EXAMPLE: Final = re.compile(r"EXAMPLE|(?i:example|x{6}|\*{4}|1234567890abcdef1234|0{12})")
"""Values that issuers use in their documentation, and that open nothing."""


_RUN_CHARS_MIN: Final = 20
"""Every token has a run of this length without a space; few words do. Anchors are sought there."""


def _long_words(text: str) -> str:
    return " ".join([word for word in text.split() if len(word) >= _RUN_CHARS_MIN])


def _tokens(text: str) -> Iterator[Finding]:
    words = _long_words(text)
    for rule, anchor, whole in _TOKENS if words else ():
        if anchor not in words:
            continue
        for match in _compiled(whole).finditer(text):
            start, end = match.span()
            joined = start and (text[start - 1].isalnum() or text[start - 1] in "_-")
            if joined and match.re.pattern[0] != "(" and not _ENCODED_BEFORE.search(text, 0, start):
                continue  # the end of a longer word: `task-force`
            if not _EXAMPLE.search(match[0]):
                yield Finding(start, end, rule)


# --- blocks ---------------------------------------------------------------------------------------

_KEY_BEGINS: Final = "-----BEGIN "
_KEY_ENDS: Final = re.compile(r"-----END [A-Z0-9 ]*-----")
_PUTTY_BEGINS: Final = "Private-Lines"
_PUTTY_ENDS: Final = re.compile(r"\n(?!Private-Lines)[^\n]*[^A-Za-z0-9+/=\s][^\n]*\n")
_BLOCK: Final = re.compile(
    r"-----BEGIN (?P<what>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?P<body>(?:(?!-----)[^\"'`<>]){40,65536}?)"
    r"(?:-----END (?P=what)-----|(?=[\"'`<>])|\Z|(?=-----))"
)
_PUTTY: Final = re.compile(r"Private-Lines: ?(\d{1,3})\s*\r?\n((?:[A-Za-z0-9+/=]+(?:\r?\n|\Z))+)")
_BODY_LINE: Final = re.compile(r"[A-Za-z0-9+/]{32}")


def _blocks(text: str) -> Iterator[Finding]:
    if "PRIVATE KEY" in text:
        for match in _BLOCK.finditer(text):
            if _BODY_LINE.search(match["body"]):  # not a sentence about such blocks
                yield Finding(match.start(), _end_of_block(match), "private-key")
    if "Private-Lines" in text:
        for match in _PUTTY.finditer(text):
            yield Finding(match.start(2), match.end(2), "private-key")


_NOT_OF_KEY: Final = re.compile(r"\n(?=[^\n]*[^A-Za-z0-9+/=\s\\:,.()-])|\n\s*\n(?=[^\n]*\s)")


def _end_of_block(match: re.Match[str]) -> int:
    """The end of a block, even one that was cut off before its last line."""
    if match[0].endswith("-----") and "-----END" in match[0]:
        return match.end()
    stop = _NOT_OF_KEY.search(match.string, match.start("body") + 1, match.end())
    return stop.start() if stop else match.end()


# --- places ---------------------------------------------------------------------------------------

_ADDRESS: Final = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://"
    r"[^\s/?#:\"'`<>()\[\]{}|\\]{0,100}:(?!\d{1,5}[?#])(?P<value>[^\s/\"'`<>|\\]{3,200})@"
    r"[A-Za-z0-9\[._$%{-]"
)
_HEADER: Final = re.compile(
    r"authorization[\"'\\]*[ \t]*[:=,][ \t]*[\"'\\]*(?:(?P<scheme>[a-z-]{2,12})[ \t]+)?"
    r"(?P<value>[A-Za-z0-9._~+/=:@-]{8,})",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(
    r"(?<![a-z])bearer[ \t]+(?P<value>[A-Za-z0-9._~+/-]{16,}=*)", re.IGNORECASE
)
_COOKIE: Final = re.compile(
    r"(?<![\w-])(?:set-)?cookie[\"'\\]*:[ \t]*(?P<rest>[^\r\n]+)", re.IGNORECASE
)
_CRUMB: Final = re.compile(r"[\w.-]+=(?P<value>[A-Za-z0-9._~+/%-]{16,}=*)")
_USER_FLAG: Final = re.compile(
    r"(?:curl|wget)(?:[^\n\\]|\\[^\n]|\\\r?\n){0,400}?\s(?:-u|--user|--proxy-user|-U)[ =]{0,8}"
    r"(?:\"(?P<a>[^\s\"]{4,})\"(?::\"(?P<b>[^\s\"]{4,})\")?|'(?P<c>[^\s']{4,})'"
    r"|(?P<d>[^\s\"':]{0,60}:)(?:'(?P<e>[^\s']{4,})'|\"(?P<f>[^\s\"]{4,})\"|(?P<g>[^\s\"']{4,})))"
)
"""`user:password` in one pair of quotes or two, or each in its own."""

_SHORT_FLAG: Final = re.compile(
    r"(?:(?:mysql|mariadb)[a-z-]*\b(?:[^\n|;&\\]|\\\r?\n){0,200}?\s-p|sshpass\s{1,4}-p\s{0,4})"
    r"(?:\"(?P<a>[^\"\n]{4,80})\"|'(?P<b>[^'\n]{4,80})'|(?P<c>[^\s\"'`|;&<>]{4,80}))",
    re.IGNORECASE,
)
_SHORT_FLAGS_OF: Final = ("mysql", "mariadb", "sshpass")
"""`mysql -pX`: no blank before the password. `sshpass -p X` has one."""

_PGPASS: Final = re.compile(
    r"(?:^|(?<=[.!?] ))[\w.*-]+:(?:\d{4,5}|\*):[\w*-]+:[\w*-]+:(?P<value>\S{6,})$", re.MULTILINE
)


def _places(text: str, low: str) -> Iterator[Finding]:
    if "://" in text:
        for match in _ADDRESS.finditer(text):
            value = match["value"]
            if _is_chosen(value) or (len(value) > 5 and _is_word(value, _SHOWN_PASSWORDS)):
                yield Finding(*match.span("value"), "url-password")
    if "authorization" in low:
        for match in _HEADER.finditer(text):
            value = match["value"]
            basic = (match["scheme"] or "").lower() == "basic" and not _is_plain(value)
            if basic or _is_made(value):
                yield Finding(*match.span("value"), "authorization")
    if "bearer" in low:
        for match in _BEARER.finditer(text):
            if _is_made(match["value"]):
                yield Finding(*match.span("value"), "bearer")
    if "cookie" in low:
        for match in _COOKIE.finditer(text):
            for crumb in _CRUMB.finditer(text, *match.span("rest")):
                if _is_made(crumb["value"]):
                    yield Finding(*crumb.span("value"), "cookie")
    if "curl" in low or "wget" in low:
        for match in _USER_FLAG.finditer(text):
            yield from _user_password(match)
    for program in _SHORT_FLAGS_OF:
        for at in _each(low, program):
            is_begun = at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_.-")
            flag = _SHORT_FLAG.match(text, at) if is_begun else None
            if flag is not None and _is_chosen(flag[flag.lastgroup or 0]):
                yield Finding(*flag.span(flag.lastgroup or 0), "password")
    if ":" in text:
        for match in _PGPASS.finditer(text):
            if _is_chosen(match["value"]):
                yield Finding(*match.span("value"), "pgpass")


def _user_password(match: re.Match[str]) -> Iterator[Finding]:
    """The password after the colon, or the user if the password is empty, which is then a key."""
    group = next((g for g in "befg" if match[g]), "a" if match["a"] else "c")
    value, (start, end) = match[group], match.span(group)
    if group in "ac":
        user, colon, password = value.partition(":")
        if not colon:
            return
        if password:
            value, start = password, start + len(user) + 1
        else:
            value, end = user, end - 1
    mixed = value.isascii() and value.isalpha() and len(value) >= 12 and _turns(value) > 3
    if not _PLACEHOLDER.search(value) and (_is_chosen(value) or mixed):
        yield Finding(start, end, "user-password")


# --- assignments ----------------------------------------------------------------------------------

_TELLING: Final = (
    *("pass", "pwd", "secret", "token", "key", "credential"),
    *("auth", "jwt", "salt", "encrypted", "hmac"),
)
_NAMES: Final = re.compile(
    r"passw(?:or)?d|passphrase|passcode|pass|pwd|secret|token|key|credential|auth|jwt|salt|encrypted|hmac|bearer"
)
_REST_OF_NAME: Final = re.compile(r"[\w.-]{0,60}")
_BEFORE_CHARS: Final = 60
_OPENS: Final = "\"'`"

_SEPARATOR: Final = re.compile(
    r"\\{0,7}[\"'`]?\]?\)?"  # the name's closing quote
    r"(?:"
    r"(?P<go>[ \t][A-Za-z_][\w.*\[\]]{0,30}[ \t]*=(?!=)[ \t]{0,4}(?=[\"`]))"  # x string = "y"
    r"|(?P<pair>[ \t]{0,20},[ \t]{0,20}(?=\\{0,7}[\"'`]))"  # define('X', 'Y')
    r"|(?P<typed>[ \t]?\??:[ \t]?[A-Za-z_][\w.\[\]| ]{0,40}?[ \t]?=(?!=)[ \t]{0,20})"  # x: str = "y"
    r"|(?P<sign>[ \t]{0,20}(?:=>|:=|[=!]==?|\|?=|:)[ \t]{0,20})"
    r"|(?P<tag>(?:[ \t][^<>\n]{0,60})?>)"  # <x>y</x>
    r"|(?P<said>[ ](?:is|was)[: ] ?)"
    r"|(?P<gap>[ \t]{1,8})"  # --x y, x 'y' of SQL, password y of .netrc
    r")"
)
_QUOTED: Final = re.compile(
    r"[bruf@]?(?:(?P<q>[\"'`])(?P<a>(?:\\.|(?!(?P=q))[^\\\n]){1,600})(?P=q)"
    r"|(?P<e>\\+[\"'`])(?P<b>(?:(?!(?P=e))[^\n]){1,600}?)(?P=e))"
)
_BARE: Final = re.compile(r"[^\s\"'`,;<>|]{1,600}")
_BARE_AFTER: Final = re.compile(r"[ \t]*(?:$|[,;#\"'<|)}\]\\]|//|--?\w)", re.MULTILINE)
_EXPORTED: Final = re.compile(r"(?:\b(?:export|ENV|ARG|set|env)|-e|--env)[ \t]+\Z")
_PAIRED: Final = re.compile(  # - name: X, value: Y, as Kubernetes and task definitions write it
    r"\\{0,7}[\"'`]?,?(?:\s|\\n){1,40}\\{0,7}[\"'`]?(?:value|stringValue|defaultValue)\\{0,7}[\"'`]?\s{0,3}[:=]\s{0,3}",
    re.IGNORECASE,
)
_PAIR_NAME: Final = re.compile(
    r"(?:name|key|id|parameter)\\{0,7}[\"'`]?\s{0,3}[:=]\s{0,3}\\{0,7}[\"'`]?\Z", re.I
)


_PAIR_CHARS: Final = 200
_MAY_PAIR: Final = re.compile(
    r"(?:name|key|id|parameter)\\{0,7}[\"'`]?\s{0,3}[:=][^\n]*(?:pass|pwd|secret|token|key|auth|jwt|salt)"
    r"[^\n]*\s*\Z",
    re.IGNORECASE,
)


def _assignments(text: str, low: str) -> Iterator[Finding]:
    upto = 0
    for hit in _NAMES.finditer(low):
        if hit.start() < upto or len(low) != len(text):
            continue
        start = hit.start()
        least = max(0, start - _BEFORE_CHARS)
        while start > least and (text[start - 1].isalnum() or text[start - 1] in "_-."):
            start -= 1
        rest = _REST_OF_NAME.match(text, hit.end())
        end = rest.end() if rest else hit.end()
        upto = end
        name = text[start:end].rstrip(".-")
        kind = kind_of(name)
        if kind:
            yield from _value_of(text, start, start + len(name), kind)


def _sentence_start(text: str, at: int) -> int:
    """The start of the sentence, or else the line: no rule looks back further."""
    line = text.rfind("\n", 0, at) + 1
    return max(line, *(text.rfind(end, line, at) + 2 for end in (". ", "! ", "? ")))


def _value_of(text: str, start: int, end: int, kind: str) -> Iterator[Finding]:
    paired = _PAIRED.match(text, end)
    if paired and _PAIR_NAME.search(text, max(0, start - 24), start):
        yield from _weighed(text, paired.end(), kind, "sign", is_code=False)
        return
    separator = _SEPARATOR.match(text, end)
    if separator is None:
        return
    how = separator.lastgroup or ""
    before = text[start - 2 : start] if start > 1 else text[:start]
    is_flag = text[start : start + 1] == "-" or before.endswith("-")
    exported = _EXPORTED.search(text, max(0, start - 10), start) is not None
    if how == "tag" and not before.endswith("<"):
        return
    opened = text[max(0, start - 4) : start - 1].rstrip().endswith("(")
    if how == "pair" and not (opened and before[-1:] in ("'", '"')):
        return  # define('X', 'Y'), but not a list of names or a call's arguments
    if how == "gap":
        quoted = text[separator.end() : separator.end() + 1] in ("'", '"') and kind == "password"
        line = text[_sentence_start(text, start) : start].lower()
        is_netrc = "login " in line or "machine " in line
        if not (is_flag or quoted or is_netrc or (exported and line.endswith("env "))):
            return
    is_quoted_name = text[end : end + 1] in _OPENS or text[end : end + 2] in ('\\"', "\\'")
    at_line_start = not text[_sentence_start(text, start) : start].strip(" \t#-/;$_.")
    is_pair = text[start - 1 : start] in ("?", "&", ";") if start else False  # of a URL
    is_code = not (
        is_quoted_name
        or at_line_start
        or exported
        or is_flag
        or is_pair
        or how in ("gap", "tag", "go")
    )
    how = "flag" if how == "sign" and (is_flag or exported) else how
    yield from _weighed(text, separator.end(), kind, how, is_code=is_code)


def _weighed(text: str, at: int, kind: str, how: str, *, is_code: bool) -> Iterator[Finding]:
    """The value at this position, if it looks like what its name says."""
    quoted = None if how == "tag" else _QUOTED.match(text, at)
    if quoted:
        group = "a" if quoted["a"] is not None else "b"
        value, span = quoted[group], quoted.span(group)
    else:
        bare = _BARE.match(text, at)
        if bare is None:
            return
        value = bare[0]
        if "\\" in value:  # an escaped quote or line end closes it
            value = re.split(r"\\+[nrt\"']", value, maxsplit=1)[0]
        value = value.rstrip(").]}:\\") if not value.endswith("==") else value
        span = (at, at + len(value))
        if (_is_reference(value) and not _is_jumble(value)) or (
            text[span[1] : span[1] + 1] in ("(", "[") and how != "tag"
        ):
            return
        if how == "tag" and text[span[1] : span[1] + 2] != "</":
            return
        if how == "sign" and not _BARE_AFTER.match(text, span[1]):
            return  # a sentence continues, or an expression
    rule = {"password": "password", "token": "token", "key": "key"}[kind]
    if kind == "password" and (quoted or not is_code) and how != "said":
        looks = _is_chosen(value)
    elif kind == "password":
        looks = _is_chosen(value) and not _is_words(value)
    elif kind == "token":
        looks = _is_made(value)
    else:
        looks = _is_random(value)
    if looks:
        yield Finding(*span, rule)


# --- sentences ------------------------------------------------------------------------------------


def _spoken_of(one: SpokenPassword) -> str:
    """The lead-in to a password in a sentence: its name, a few words, and "is" or a colon."""
    names = "|".join(map(re.escape, one.names))
    if one.apart:
        word = r"[ \t]{1,3}[\w@/'-]{1,40}(?:\.[\w-]{1,40}){0,4}"  # no stop, which ends a sentence
        return rf"(?:{names})\w{{0,12}}(?:{word}){{0,6}}?(?:[ \t]+(?:{one.leads})[ \t]|[ ]?:[ \t])"
    return rf"(?:{names})[^\s.,;:!?。，；！？|=<>]{{0,20}}?(?:(?:{one.leads})[:：]?|[:：])"


_SPOKEN: Final = tuple(
    (
        name,
        re.compile(
            rf"(?:{_spoken_of(one)})[ \t]{{0,3}}[\"'`“”„«»「]?[ ]?(?P<value>[!-~]{{6,80}})",
            re.IGNORECASE,
        ),
    )
    for one in SPOKEN_PASSWORDS
    for name in one.names
)
_SPOKEN_NAMES: Final = tuple(
    name for name, _ in _SPOKEN if not any(map(name.__contains__, _TELLING))
)
_AFTER_SPOKEN: Final = "\"'`.,;:)>]"


def _each(text: str, word: str) -> Iterator[int]:
    """The positions of a word in a text."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _spoken(text: str, low: str) -> Iterator[Finding]:
    """`the password for prod is X`, in any language with words for it."""
    matches = (pattern.match(text, at) for name, pattern in _SPOKEN for at in _each(low, name))
    for match in filter(None, matches if len(low) == len(text) else ()):
        value = match["value"].rstrip(_AFTER_SPOKEN)
        if _is_chosen(value) and not _is_words(value) and not _is_reference(value):
            yield Finding(match.start("value"), match.start("value") + len(value), "password")


# --- tables ---------------------------------------------------------------------------------------

_ROW: Final = re.compile(r"^\|.*\|[ \t]*$", re.MULTILINE)
_RULE: Final = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?)?[ \t]*\Z")
_CELL: Final = re.compile(r"(?<=\|)[^|\n]*(?=\|)")
_CELL_MARKS: Final = " \t`*_\"'"


def _tables(text: str) -> Iterator[Finding]:
    """Cells of a Markdown table under a telling name, or after one in their row."""
    kinds: dict[int, str] = {}  # by column, of the previous row's table
    above: list[str] = []
    end = 0
    for row in _ROW.finditer(text):
        if row.start() > end + 1:
            kinds, above = {}, []
        end = row.end()
        if not (kinds or above or _NAMES.search(row[0].lower())):
            continue
        cells = list(_CELL.finditer(text, row.start(), row.end()))
        if _RULE.match(row[0]):
            kinds = {at: kind for at, name in enumerate(above) if (kind := kind_of(name))}
            continue
        above = [cell[0].strip(_CELL_MARKS) for cell in cells]
        for at, cell in enumerate(cells):
            kind = kinds.get(at) or (kind_of(above[at - 1]) if at == 1 else "")
            value = above[at]
            looks = _is_chosen(value) if kind == "password" else _is_made(value)
            if kind in ("password", "token") and looks and not _is_words(value):
                start = cell.start() + cell[0].find(value)
                yield Finding(start, start + len(value), kind)


# --- names ----------------------------------------------------------------------------------------

_CHOSEN_WORD: Final = re.compile(r"PASSWORD\Z|PASSWD\Z|PASSPHRASE\Z|PASSCODE\Z|PWD\Z")
_META: Final = frozenset(
    "FIELD FIELDS HASHER HASHERS RESET LENGTH MIN MAX POLICY LABEL PLACEHOLDER INPUT TYPE URL URI"
    " PATH FILE FILENAME DIR HINT PROMPT VALIDATOR VALIDATORS ID NAME NAMES CHANGED EXPIRY EXPIRES"
    " EXPIRATION REGEX RE PATTERN FORMAT ERROR MESSAGE MSG TEXT TITLE DESCRIPTION HELP COUNT SIZE"
    " LIMIT BUDGET TTL TIMEOUT PREFIX SUFFIX ENDPOINT HOST PORT REGION VERSION STATUS STATE INDEX"
    " MODE METHOD ALGORITHM ALG SCOPE SCOPES HEADER COOKIENAME KIND CLASS PARAM PARAMETER VAR ENV"
    " STRATEGY PROVIDER REF RESOURCE ARN STORE MANAGER SERVICE DATE TIME AT COLUMN TEST TESTS"
    " TYPES MAP LIST SET ROTATION REQUIRED ENABLED DISABLED LINK PAGE VIEW FORM FORMATS".split()
)
_MADE_KEYS: Final = frozenset(
    "API ACCESS SECRET PRIVATE AUTH ENCRYPTION SIGNING MASTER ACCOUNT SHARED DEPLOY CONSUMER ADMIN"
    " SSH HMAC JWT SESSION SERVICE CLIENT LICENSE APPLICATION APP SUBSCRIPTION FUNCTION".split()
)
_PUBLIC_NAMES: Final = frozenset(
    "PUBLIC FOREIGN PRIMARY CACHE SORT PARTITION IDEMPOTENCY OBJECT ROW INDEX UNIQUE GROUP SITE"
    " PUB HOT NATURAL COMPOSITE TRANSLATION I18N LOCALE DEDUP FINGERPRINT HASH NEXT CONTINUATION PAGE"
    " CANCELLATION CANCEL CSRF XSRF PUBLISHABLE RECAPTCHA".split()
)
_ENDS_PASS: Final = frozenset(
    "PASS USERPASS DBPASS SSHPASS ROOTPASS ADMINPASS MAILPASS SMTPPASS PGPASS FTPPASS".split()
)


def kind_of(name: str) -> str:
    """The kind of value that a name promises: "password", "token", "key" (doubtful), or ""."""
    words = [word for word in words_of(name) if word]
    if not words or len(name) > 120:
        return ""
    last = words[-1]
    if "".join(words).endswith("ACCESSKEYID"):
        return "token"
    if last in _META or not _PUBLIC_NAMES.isdisjoint(words):
        return ""
    if _CHOSEN_WORD.search(last) and last != "OLDPWD":
        return "password"
    if last in _ENDS_PASS:
        return "password"
    whole = "".join(words)
    if last in ("SECRET", "TOKEN", "CREDENTIAL", "CREDENTIALS", "JWT", "AUTHTOKEN", "APITOKEN"):
        return "token"
    if last in ("AUTH", "BEARER") or whole.endswith(
        ("APIKEY", "ACCESSKEY", "SECRETKEY", "AUTHKEY")
    ):
        return "token"
    if last in ("BASE", "PLAIN", "VALUE", "STRING", "DATA", "RAW", "PROD", "LIVE", "DEV"):
        return kind_of(name[: name.upper().rfind(last)].rstrip("_.-"))
    if last.endswith("KEY") and len(words) > 1:
        return "token" if words[-2] in _MADE_KEYS else "key"
    if last in ("SALT", "KEY") and len(words) > 1:
        return "key"
    if "ENCRYPTED" in words or any(map(_CHOSEN_WORD.search, words)):
        return "key"
    return "key" if "SECRET" in words or "TOKEN" in words else ""


# --- values ---------------------------------------------------------------------------------------

_PLACEHOLDER: Final = re.compile(
    r"\A(?:\$[\w{(]|\{.*\}\Z|\{[A-Za-z_]\w*[!:.\[]|<|%[\w({]|\[|\*+\Z|&\w|@\w+\Z|\.{2,}|#\{|x+\Z)"
    r"|\$\{|\{\{|\$\(|%\(|<%|#\{|\{\w*\}|\.\.\.|…|\*{3}|&lt;|x{4}|X{4}|EXAMPLE"
    r"|(?<![A-Za-z0-9])(?i:your|insert[_-]|replace[_-]|enter[_-]|process\.env|environ|getenv|secrets\.|vault:|arn:)"
    r"|(?<![A-Za-z0-9])(?i:example|placeholder|change[_-]?(?:me|it)|redacted|dummy|fake|mock|sample|todo"
    r"|not[_-]?set|null|undefined)(?![A-Za-z0-9])"
    r"|\A12345678"
)
_REFERENCE: Final = re.compile(
    r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+\(?.*\Z|[A-Za-z_]\w*\(.*|[a-z]+(?:_[a-z0-9]+)+\Z"
    r"|[A-Z][A-Z_]+\Z|(?:True|False|None|null|nil|true|false|self|str|int)\b.*|[/~.]{1,2}/.*|/[\w./-]+\Z|&?\*?\w+\[.*"
)
_WORDY: Final = re.compile(r"[A-Za-z]+\d{0,4}|\d+")
_PIECES: Final = re.compile(r"[-_./: @+]+")
_HUMPS: Final = re.compile(r"[A-Z]?[a-z]+\d{0,3}|[A-Z]+\d{0,3}(?![a-z])|\d{1,4}(?!\d)")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_PUBLIC_VALUE: Final = re.compile(
    r"(?:sha(?:1|256|384|512)|md5)[-:]|ssh-|ecdsa-|https?://|data:|[A-Z]:\\|s3://"
)


def _is_reference(value: str) -> bool:
    return _REFERENCE.match(value) is not None


def _is_plain(value: str) -> bool:
    """Whether it is not a secret of any kind: a placeholder, an address, one word."""
    return (
        (value.isalpha() and not _is_jumble(value))
        or value.isdigit()
        or _PLACEHOLDER.search(value) is not None
        or _PUBLIC_VALUE.match(value) is not None
    )


def _is_words(value: str) -> bool:
    """Whether it consists of words and small numbers: `base64-encoded`, `getTokenV2`."""
    pieces = [piece for piece in _PIECES.split(value) if piece]
    return (
        all(_WORDY.fullmatch(p) and "".join(_HUMPS.findall(p)) == p for p in pieces)
        and (len(value) < 20 or sum(map(str.isdigit, value)) * 5 < len(value))
        and not (len(pieces) == 1 and _bits(value) > 3.5 and len(value) >= 16 and _turns(value) > 4)
    )


_SHOWN_PASSWORDS: Final = frozenset(
    "password passwd passwort secret secretpassword mypassword yourpassword userpass postgres mariadb"
    " rabbitmq mysecretpassword mongodb".split()
)
"""The passwords of addresses in documentation."""


def _is_word(value: str, but: frozenset[str]) -> bool:
    return value.isascii() and value.isalpha() and value.islower() and value not in but


def _turns(value: str) -> int:
    """How often it switches between letters and digits, or lower and upper case."""
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in value if c.isalnum()]
    return sum(a != b for a, b in itertools.pairwise(kinds))


def _is_jumble(value: str) -> bool:
    """Whether a piece is random letters: upper and lower case, and no word among them."""
    return any(
        len(piece) >= 10
        and piece.isascii()
        and piece.isalnum()
        and not (piece.islower() or piece.isupper())
        and re.search(r"[a-z]{4}|[A-Z]{6}", piece) is None
        for piece in _PIECES.split(value)
    )


def _is_chosen(value: str) -> bool:
    """Whether a person may have chosen it as a password."""
    if not 6 <= len(value) <= 200 or _is_plain(value) or " " in value.strip():
        return _is_noise(value)
    letters = sum(map(str.isalpha, value))
    digits = sum(map(str.isdigit, value))
    signs = sum(c in "!@#$%^&*+=?~|" for c in value)
    if _UUID.match(value):
        return True
    if _is_jumble(value):
        return True
    return letters > 0 and (digits > 0 or signs > 0) and letters + digits > 4 and "://" not in value


def _is_made(value: str) -> bool:
    """Whether a machine may have generated it."""
    if not 10 <= len(value) <= 600 or " " in value or _is_plain(value):
        return _is_noise(value)
    if _UUID.match(value) or _is_jumble(value):
        return True
    digits = sum(map(str.isdigit, value))
    if digits == 0 or not any(map(str.isalpha, value)) or "/" in value[:2] or _is_reference(value):
        return (
            len(value) >= 32 and _bits(value) > 4.2 and _turns(value) > 8 and "/" not in value[:2]
        )
    return not _is_words(value) and _bits(value) >= (2.8 if len(value) < 20 else 3.0)


def _is_random(value: str) -> bool:
    """Whether it is long and close to random, of letters and digits."""
    if not 20 <= len(value) <= 600 or " " in value or _is_plain(value) or _UUID.match(value):
        return _is_noise(value)
    if not re.fullmatch(r"(?:base64:)?[A-Za-z0-9+/_=.-]+", value):
        return _is_noise(value)
    if not _is_made(value) or value.isalpha():
        return False
    if re.fullmatch(r"[0-9a-fA-F]+", value):
        return len(value) >= 32 and _bits(value) > 3.0
    return _bits(value) > 3.7 and _turns(value) * 4 > len(value)


def _is_noise(value: str) -> bool:
    """Whether it is a long run of letters, digits and signs of every kind, including spaces."""
    if len(value) < 40 or _PUBLIC_VALUE.match(value):
        return False
    signs = sum(not (c.isalnum() or c.isspace()) for c in value)
    return signs * 5 > len(value) and sum(map(str.isdigit, value)) > 3 and _bits(value) > 4.8


def _bits(value: str) -> float:
    """Shannon entropy of its characters, in bits per character."""
    count = len(value)
    return -sum(n / count * math.log2(n / count) for n in Counter(value).values())


# --- the layer ------------------------------------------------------------------------------------

_ANCHORS: Final = tuple(dict.fromkeys(anchor for _, anchor, _ in _TOKENS))
_SURELY: Final = ("PRIVATE KEY", "Private-Lines", "://")
_SURELY_LOW: Final = ("bearer", "cookie", "curl", "wget", "mysql", "mariadb")
_TELLING_OR_SURELY: Final = (*_TELLING, *_SURELY_LOW)
_PGPASS_MAY: Final = re.compile(r":(?:\d{4,5}|\*):")


class Structure:
    """The layer of this module's rules."""

    name: Final = "structure"

    def may_hold(self, text: str) -> bool:
        if len(text) < 8:
            return False
        low = text.lower()
        for word in _TELLING_OR_SURELY:
            if word in low:
                return True
        if any(anchor in text for anchor in _SURELY) or _PGPASS_MAY.search(text):
            return True
        if any(name in low for name in _SPOKEN_NAMES):
            return True
        words = _long_words(text)
        return bool(words) and any(anchor in words for anchor in _ANCHORS)

    def find(self, text: str) -> list[Finding]:
        low = text.lower()
        found = [*_tokens(text), *_blocks(text), *_places(text, low), *_spoken(text, low)]
        if _NAMES.search(low):
            found += _assignments(text, low)
            if text.startswith("|") or "\n|" in text:
                found += _tables(text)
        return found

    def open_from(self, text: str) -> int:
        """The start of the last sentence, of a line that names a secret and may continue, or of an
        unfinished group of lines.
        """
        at = line = text.rfind("\n") + 1
        if not self.may_hold(text[line:]):
            at = _sentence_start(text, len(text))
        while line and text[:line].rstrip("\r\n").endswith("\\"):  # a command continues
            at = line = text.rfind("\n", 0, line - 1) + 1
        begin = text.rfind("\n", 0, max(0, line - 1)) + 1
        while line and text[begin:line].lstrip(" \t").startswith("|"):  # so does a table
            at = line = begin
            begin = text.rfind("\n", 0, max(0, line - 1)) + 1
        if pair := _MAY_PAIR.search(text, max(0, line - _PAIR_CHARS), line):
            at = min(at, text.rfind("\n", 0, pair.start()) + 1)
        for begins, ends in ((_KEY_BEGINS, _KEY_ENDS), (_PUTTY_BEGINS, _PUTTY_ENDS)):
            block = text.rfind(begins)
            if block >= 0 and not ends.search(text, block):
                at = min(at, text.rfind("\n", 0, block) + 1)
        return at
