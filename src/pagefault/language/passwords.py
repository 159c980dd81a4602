"""Words for a password, and what may be between one and its value, in each language that has them
here. Separate from the languages, because the guard checks every text with it, even if no language
is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SpokenPassword:
    """`names` are the beginnings of words for it, in lower case; `leads` is a regular expression
    for what precedes the value. With `apart`, words are separated by blanks.
    """

    code: str
    names: tuple[str, ...]
    leads: str
    apart: bool = True


SPOKEN_PASSWORDS: Final = (
    SpokenPassword("en", ("password", "passphrase", "passcode", "passwd"), r"is|was|is now"),
    SpokenPassword(
        "de", ("passwort", "passwörter", "kennwort"), r"ist|war|lautet|heißt|ist jetzt|lautet jetzt"
    ),
    SpokenPassword("fr", ("mot de passe", "mots de passe"), r"est|était|c'est|est maintenant"),
    SpokenPassword("es", ("contraseña",), r"es|era|ahora es|es ahora"),
    SpokenPassword("ru", ("парол",), r"[-–—]|это|теперь|был"),
    SpokenPassword("zh", ("密码", "密碼", "口令"), r"是|为|為|改成|改为", apart=False),
)
