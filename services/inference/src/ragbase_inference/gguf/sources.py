"""Where a model's file comes from: an https address, or a file of a model hub's repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import quote, unquote, urlsplit

from ragbase_inference.gguf.folder import SUFFIX

__all__ = ["DEFAULT_HUB", "Source", "checked_url", "parse_source"]

DEFAULT_HUB = "https://huggingface.co"
_HUB_FILE = re.compile(
    r"(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?:(?P<file>[\w./ -]+\.gguf)"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True)
class Source:
    """What to fetch."""

    url: str
    name: str
    """What the model is called here, without ``.gguf``."""
    of_hub: bool
    """Whether the hub's key is sent along."""


def parse_source(text: str, *, name: str | None = None, hub: str = DEFAULT_HUB) -> Source:
    """``https://…/file.gguf``, or ``owner/repository[@revision]:file.gguf``.

    ``name`` replaces the file's own. Plain http is taken of this machine only. Raises `ValueError`
    that says what is wrong.
    """
    if "://" in text:
        return Source(checked_url(text), _checked_name(name or _last(text)), of_hub=False)
    found = _HUB_FILE.fullmatch(text)
    if not found or ".." in text:
        raise ValueError(
            f"{text!r} is neither an https address of a {SUFFIX} file nor owner/repository:file.gguf"
        )
    where = f"{found['repository']}/resolve/{quote(found['revision'] or 'main', safe='')}"
    url = checked_url(f"{hub.rstrip('/')}/{where}/{quote(found['file'])}")
    return Source(url, _checked_name(name or _last(url)), of_hub=True)


def checked_url(url: str) -> str:
    """``url``, if it may be fetched from; else `ValueError`."""
    parts = urlsplit(url)
    if parts.scheme == "http" and _is_this_machine(parts.hostname):
        return url
    if parts.scheme != "https" or not parts.hostname:
        raise ValueError(f"{parts.scheme}:// is not taken: give an https address")
    if parts.username or parts.password:
        raise ValueError("no user names and passwords in addresses: they would be logged")
    return url


def _is_this_machine(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


def _last(url: str) -> str:
    return unquote(urlsplit(url).path.rpartition("/")[2])


def _checked_name(name: str) -> str:
    bare = name.removesuffix(SUFFIX)
    if not _NAME.fullmatch(bare):
        raise ValueError(
            f"{name!r} cannot name a model: letters, digits, '.', '_' and '-', at most 128; "
            "give another name"
        )
    return bare
