"""Connections to PostgreSQL that notice a lost server, and transactions that do not wait for ever."""

from collections.abc import Mapping

import sqlalchemy as sa

_SETTINGS = {
    # A lost host or network is detected after 25 seconds, not after hours.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}


def connection_settings(url: sa.URL, seconds: int) -> dict[str, int]:
    """Return settings of libpq for connections with a timeout in seconds; settings in the URL take precedence."""
    settings = {"connect_timeout": seconds} | _SETTINGS
    return {name: value for name, value in settings.items() if name not in url.query}


def set_in_transaction(connection: sa.Connection, settings: Mapping[str, str]) -> None:
    """Set parameters of the server until the end of the transaction."""
    connection.execute(sa.select(*(sa.func.set_config(name, value, True) for name, value in settings.items())))
