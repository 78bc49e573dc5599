"""The users of the network and their roles: from a file, or this machine alone."""

import ipaddress
import os
import secrets
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from cepsql.errors import InterfaceError

READER, OWNER = "reader", "owner"
ROLES = (READER, OWNER)


@dataclass(frozen=True)
class User:
    """A user: role READER reads views and definitions, OWNER does what a shell does."""

    name: str
    role: str
    password: str = ""

    def __repr__(self) -> str:
        return f"User({self.name!r}, {self.role!r})"


@dataclass(frozen=True)
class Users:
    """The users who may connect: those of a file by name; without a file anyone, with one role."""

    by_name: Mapping[str, User] | None
    role: str = READER

    def find(self, name: str) -> User | None:
        """Return the user with a name, None for an unknown one."""
        return User(name, self.role) if self.by_name is None else self.by_name.get(name)

    def password(self, name: str) -> str:
        """Return the password of a user, a random one for an unknown user."""
        user = self.find(name)
        return user.password if user is not None and user.password else secrets.token_hex()


def read_users(path: str) -> Users:
    """Read a file of users, TOML with a table for each: [users.anna] with role and password.

    Raises InterfaceError for a file that is missing or wrong, or that others can read.
    """
    try:
        with open(path, "rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise InterfaceError(f"the file of users {path} can be read by others", hint=f"chmod 600 {path}")
            tables = tomllib.load(file).get("users", {})
    except OSError as error:
        raise InterfaceError(f"the file of users {path} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise InterfaceError(f"the file of users {path} is no TOML: {error}") from None
    users = {}
    for name, fields in tables.items() if isinstance(tables, dict) else ():
        role = fields.get("role", READER) if isinstance(fields, dict) else None
        password = fields.get("password") if isinstance(fields, dict) else None
        if role not in ROLES or not isinstance(password, str) or not password:
            raise InterfaceError(
                f"user {name} in {path} needs a password and a role", hint=f"roles: {', '.join(ROLES)}"
            )
        users[name] = User(name, role, password)
    if not users:
        raise InterfaceError(
            f"the file {path} names no users", hint='[users.anna] with role = "reader", password = ...'
        )
    return Users(users)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
