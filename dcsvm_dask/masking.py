"""Passwords, signatures and control characters are taken out of what is shown or stored."""

from __future__ import annotations

import re

MASK = "***"

_USER = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^\s/?#'\"<>]*)@")
_QUERY = re.compile(
    r"(?P<address>[A-Za-z][A-Za-z0-9+.-]*://[^\s?'\"<>]*)\?[^\s'\"<>)]*?(?=[:,;.]?(?:[\s'\"<>)]|$))"
)
# A word that is a credential wherever it stands, such as in a client's own message.
_WORD = re.compile(
    r"(?i)\b(?P<name>X-(?:Amz|Goog|Ms)-[\w-]*(?:Signature|Credential|Token)|sig|signature|token"
    r"|access_token|AWSAccessKeyId|GoogleAccessId|password|secret)=[^\s&'\"<>),;]+"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def masked(text: str) -> str:
    """Return a text whose URLs have neither passwords nor queries.

    The account of ``abfs://CONTAINER@ACCOUNT/...`` stays: it names a place. A query goes whole,
    since each store has its own name for what signs a URL.
    """
    if "://" in text:
        text = _USER.sub(_without_user, text)
        text = _QUERY.sub(rf"\g<address>?{MASK}", text)
    return _WORD.sub(rf"\g<name>={MASK}", text) if "=" in text else text


def has_credentials(url: str) -> bool:
    """Whether a URL has a query, or a user with a password or a token."""
    return masked(url) != url


def printable(text: str) -> str:
    """Return a text whose control characters, which a terminal would obey, are spelled out.

    Tabs and line breaks stay.
    """
    return _CONTROL.sub(lambda found: rf"\x{ord(found.group()):02x}", text)


def _without_user(found: re.Match[str]) -> str:
    scheme, user = found["scheme"], found["user"]
    is_container = scheme.startswith(("abfs", "az:")) and ":" not in user
    return found.group() if is_container else f"{scheme}{MASK}@"
