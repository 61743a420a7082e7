"""Tells Postgres' own programs whom to connect to, by environment alone.

A command line can be read by every user of the machine, the environment of a process only by its
owner: neither the password nor anything else of DATABASE_URL becomes an argument.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from ragbase.errors import ConfigurationError

__all__ = ["libpq_environment"]

_VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "database": "PGDATABASE",
    "passfile": "PGPASSFILE",
    "service": "PGSERVICE",
    "servicefile": "PGSERVICEFILE",
    "options": "PGOPTIONS",
    "application_name": "PGAPPNAME",
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "client_encoding": "PGCLIENTENCODING",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
    "channel_binding": "PGCHANNELBINDING",
    "gssencmode": "PGGSSENCMODE",
    "gsslib": "PGGSSLIB",
    "krbsrvname": "PGKRBSRVNAME",
    "sslmode": "PGSSLMODE",
    "sslnegotiation": "PGSSLNEGOTIATION",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcrl": "PGSSLCRL",
    "ssl_min_protocol_version": "PGSSLMINPROTOCOLVERSION",
    "ssl_max_protocol_version": "PGSSLMAXPROTOCOLVERSION",
}
"""URL parameters that both the driver and libpq know; the driver takes others for settings."""

_OVERRIDING = ("PGSERVICE", "PGOPTIONS", "PGHOSTADDR")
"""Variables of our own environment that would win over, or mix with, what the URL says."""


def libpq_environment(dsn: str, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """Our environment, with ``dsn`` and session ``settings`` in libpq's variables.

    What the URL leaves out comes from ``PG*`` variables, as for the driver.
    """
    found = _parts(dsn)
    inherited = {name: value for name, value in os.environ.items() if name not in _OVERRIDING}
    named = {_VARIABLES[key]: value for key, value in found.items() if key in _VARIABLES}
    options = {key: value for key, value in found.items() if key not in _VARIABLES}
    given = [named.pop("PGOPTIONS", "")]
    given += [
        f"-c {key}={_quoted(value)}" for key, value in {**options, **(settings or {})}.items()
    ]
    named["PGOPTIONS"] = " ".join(part for part in given if part)
    # Messages are read by us: in English, whatever the locale.
    return {**inherited, "LC_ALL": "C", "PGAPPNAME": "ragbase-backup", **named}


def _parts(dsn: str) -> dict[str, str]:
    try:
        url = urlsplit(dsn)
    except ValueError as error:
        raise ConfigurationError(f"DATABASE_URL is not valid: {error}") from error
    credentials, _, address = url.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    hosts, ports = _addresses(address)
    found = {
        "user": unquote(user),
        "password": unquote(password),
        "host": hosts,
        "port": ports,
        "dbname": unquote(url.path.removeprefix("/")),
        **dict(parse_qsl(url.query)),
    }
    return {key: value for key, value in found.items() if value}


def _addresses(text: str) -> tuple[str, str]:
    """``a:1,[::1]:2`` as libpq's two lists."""
    if not text:
        return "", ""
    pairs = [_host_and_port(part) for part in text.split(",")]
    ports = [port for _, port in pairs]
    return ",".join(unquote(host) for host, _ in pairs), ",".join(ports) if any(ports) else ""


def _host_and_port(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":")
    host, _, port = text.partition(":")
    return host, port


def _quoted(value: str) -> str:
    """As PGOPTIONS wants it: blanks and backslashes are escaped."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
