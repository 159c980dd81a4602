"""A password that somebody says, types behind a flag or puts into a table: found, in six languages,
and nothing that only speaks of passwords.
"""

from __future__ import annotations

import pytest

from tests.guard.test_detection import PASSWORD, drawn, screen, streamed

BOT = drawn("0123456789", 9) + ":" + "AA" + drawn("abcDEF0123_-", 33)

FOUND = [
    f"the password for prod is {PASSWORD}",
    f"Well, the root password of the old db.example.org box was “{PASSWORD}”, I think.",
    f"passphrase for my key: {PASSWORD}",
    f"Das Passwort für den alten Server lautet {PASSWORD}.",
    f"Kennwort vom WLAN: {PASSWORD}",
    f"Le mot de passe du serveur de test est « {PASSWORD} »",
    f"la contraseña del router es {PASSWORD}",
    f"Пароль от сервера — {PASSWORD}",
    f"пароль для базы: {PASSWORD}",
    f"数据库的密码是{PASSWORD}。",
    f"服务器密码：{PASSWORD}",
    f"mysql -u root -p{PASSWORD} shop",
    f"mysqldump --port=3306 -uroot -p'{PASSWORD}' shop > shop.sql",
    f'mysql -h db \\\n  -p"{PASSWORD}"',
    f"sshpass -p {PASSWORD} ssh box",
    f"| user | password |\n| --- | --- |\n| ann | {PASSWORD} |",
    f"| what | value |\n|:--|--:|\n| password | `{PASSWORD}` |\n| port | 3306 |",
]

LEFT = [
    "The password for the shop is stored as a sha256-hash.",
    "The password for every user must have 8+ characters, and is case-sensitive.",
    "I lost the password. Everything else is Plan-B2 now.",
    "Das Passwort wird mit bcrypt2 gespeichert und ist nie lesbar.",
    "Kennwort: erforderlich",
    "Le mot de passe est obligatoire.",
    "La contraseña es demasiado corta (min. 8).",
    "Пароль — это строка, не короче 8 символов.",
    "密码是必填项。",
    "mysql -u root -p shop2024db",
    "mysql --protocol=tcp -P3306 shop",
    "| password | string | what the user typed |",
    "| token_limit | 4096 |\n| --- | --- |\n| max_tokens | 1024k |",
    "| field | type |\n| --- | --- |\n| password | varchar255 |",
]


@pytest.mark.parametrize("text", FOUND)
def test_a_password_is_found_wherever_the_text_is_cut(text: str) -> None:
    guard = screen()
    cleaned = guard.clean(f"So:\n{text}\nAnd on.")
    assert PASSWORD not in cleaned
    assert "[REDACTED:password:" in cleaned
    assert cleaned.startswith("So:\n")
    assert cleaned.endswith("\nAnd on.")
    whole = f"So:\n{text}\nAnd on."
    for cut in range(1, len(whole), 3):
        assert streamed(guard, [whole[:cut], whole[cut:]]) == cleaned


@pytest.mark.parametrize("text", LEFT)
def test_what_only_speaks_of_a_password_stays(text: str) -> None:
    assert screen().clean(text) == text


def test_a_bots_token_is_found_in_its_address_too() -> None:
    text = f"https://api.telegram.org/bot{BOT}/getMe"
    assert screen().clean(text).startswith("https://api.telegram.org/bot[REDACTED:telegram-token:")
    assert BOT not in screen().clean(f"BOT={BOT}")
