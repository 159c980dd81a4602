"""What a password is called, and what stands between that and the password, in each language that
has words for it here. Apart from the languages themselves: the guard reads it of every text, also
where nothing else of a language is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SpokenPassword:
    """`names` are how a word for it begins, in small letters; `leads` is a regular expression of
    what the value follows. With `apart`, blanks stand between words.
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
