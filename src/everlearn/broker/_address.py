"""Addresses of topics and streams; what is secret in them is never shown."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from ..errors import InputError

PASSWORD_VARIABLE = "EVERLEARN_BROKER_PASSWORD"
_PORTS = {"kafka": 9092, "redis": 6379, "rediss": 6379}
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:@/\[\]]+)(?::(\d{1,5}))?")


def is_broker(path: str) -> bool:
    """Whether a source is the address of a topic or of a stream.

    Parameters
    ----------
    path : str
        The source.

    Returns
    -------
    bool
        Whether it starts with kafka://, redis:// or rediss://.
    """
    return path.partition("://")[0].lower() in _PORTS and "://" in path


@dataclass(frozen=True)
class Address:
    """The address of a topic or of a stream.

    Attributes
    ----------
    scheme : {"kafka", "redis", "rediss"}
        The kind of broker; "rediss" is Redis with TLS.
    hosts : list of (str, int)
        Hosts and ports; several only for Kafka.
    stream : str
        The topic or the stream.
    user : str or None, default=None
        The user.
    password : str or None, default=None
        The password. If the address has none, that of the environment variable EVERLEARN_BROKER_PASSWORD.
    options : mapping of str to str, default={}
        The part behind the question mark: settings of librdkafka, or the number of the Redis database, "db".
    """

    scheme: str
    hosts: list[tuple[str, int]]
    stream: str
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, url: str) -> "Address":
        """Read an address such as ``kafka://host:9092/topic`` or ``redis://host:6379/stream?db=1``.

        Parameters
        ----------
        url : str
            The address. User, password and names may be percent-encoded.

        Returns
        -------
        Address
            The address.
        """
        scheme, _, rest = url.partition("://")
        scheme = scheme.lower()
        if scheme not in _PORTS:
            raise InputError("The address of a broker starts with kafka://, redis:// or rediss://.")
        rest, _, query = rest.partition("?")
        login, _, rest = rest.rpartition("@")
        hosts, _, stream = rest.partition("/")
        shown = f"{scheme}://{hosts}/{stream}"  # without login and query, which may hold passwords
        if not stream or "/" in stream:
            raise InputError(
                f"{shown!r} must name one topic or stream: {scheme}://host:{_PORTS[scheme]}/name.",
                code="bad_address",
            )
        found = [_host(text, scheme, shown) for text in hosts.split(",")]
        if len(found) > 1 and scheme != "kafka":
            raise InputError(f"{shown!r}: several hosts are for Kafka only.", code="bad_address")
        options = dict(parse_qsl(query, keep_blank_values=True))
        if scheme != "kafka" and (wrong := sorted(options.keys() - {"db"})):
            raise InputError(
                f"{shown!r} has the unknown option {wrong[0]!r}; Redis has the option 'db'.",
                code="bad_address",
            )
        if not options.get("db", "0").isdigit():
            raise InputError(f"{shown!r}: the option 'db' must be a number.", code="bad_address")
        user, _, password = login.partition(":")
        secret = unquote(password) or os.environ.get(PASSWORD_VARIABLE) or None
        return cls(scheme, found, unquote(stream), unquote(user) or None, secret, options)

    @property
    def server(self) -> str:
        """The hosts and ports, as text."""
        return ",".join(f"{host}:{port}" for host, port in self.hosts)

    @property
    def name(self) -> str:
        """The address without anything secret: this is what is shown and stored."""
        db = self.options.get("db", "0") if self.scheme != "kafka" else "0"
        return f"{self.scheme}://{self.server}/{self.stream}" + (f"?db={int(db)}" if int(db) else "")


def _host(text: str, scheme: str, shown: str) -> tuple[str, int]:
    match = _HOST.fullmatch(text.strip())
    if match is None or int(match[2] or 0) > 65535:
        raise InputError(f"{shown!r} has no valid host and port.", code="bad_address")
    return match[1], int(match[2] or _PORTS[scheme])
