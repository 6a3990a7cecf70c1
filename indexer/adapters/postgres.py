"""
One way to reach a PostgreSQL server: transactions, numbered migrations, clear errors.

A connection that was dropped is opened anew, and the transaction that found it so is done
once more; so all work handed to `Postgres.transact` must come to the same if done twice.
The password of the URL stands in no error.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from indexer.errors import IndexerError, Misconfigured, Retryable
from indexer.private import passwords_in

if TYPE_CHECKING:
    from psycopg import Connection

Result = TypeVar("Result")
Work = Callable[["Connection[Any]"], Result]
Migration = Callable[["Connection[Any]"], None]

SCHEMES = ("postgresql://", "postgres://")
LOCK = int.from_bytes(b"indexer_", "big")  # the advisory lock of migrations
APPLICATION = "indexer"
_LEAST_SECRET = 4
_AGAIN = ("40001", "40P01")  # two transactions were in each other's way
_REFUSED = re.compile(
    r"authentication failed|no password supplied|does not exist|no pg_hba\.conf entry|not permitted to log in"
    r"|certificate|does not support SSL|root\.crt|sslmode|not known|permission denied"
    r"|server does not support|private key",
    re.IGNORECASE,
)
_CONFIGURE = {
    "23503": "other tables refer to this project: remove their rows first",
    "22P05": "take NUL characters out of the prompts",
    "28": "correct the user or the password in its URL",
    "3D": "create that database, or correct the name in the URL",
    "25006": "name the primary server: this one only reads",
    "42501": "give this user the right to create and change tables in its schema",
}


class Postgres:
    """
    A server, connected when it is first asked. `timeout` in seconds: to connect, and of a statement.

    Raises `Misconfigured` for an address that cannot be one, or if the driver is not installed.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        self.driver = _driver()
        if not url.startswith(SCHEMES):
            raise Misconfigured(
                "the registry's address is no PostgreSQL URL; write "
                "postgresql://user:password@host:5432/database?sslmode=verify-full"
            )
        # Shorter ones would blank ordinary words, as in `cli.console`.
        self._secrets = [text for text in passwords_in(url) if len(text) >= _LEAST_SECRET]
        self._timeout = timeout
        self._parameters = self._parsed(url)
        self._connection: Connection[Any] | None = None

    @property
    def where(self) -> str:
        """The address without a password."""
        known = self._parameters
        user = f"{quote(str(known['user']), safe='')}@" if known.get("user") else ""
        host = str(known.get("host") or known.get("hostaddr") or "")
        host = quote(host, safe="") if host.startswith("/") else host
        port = f":{known['port']}" if known.get("port") else ""
        return f"postgresql://{user}{host}{port}/{quote(str(known.get('dbname', '')), safe='')}"

    def transact(self, work: Work[Result]) -> Result:
        """
        `work` in one transaction.

        Raises `Retryable` if the server does not answer, `Misconfigured` if it refuses us,
        `IndexerError` for what else it says.
        """
        while True:
            used = self._connection is not None
            try:
                return self._once(work)
            except self.driver.Error as error:
                lost = self._connection is None or self._connection.closed
                if lost:
                    self.close()
                if used and (lost or error.sqlstate in _AGAIN):
                    self.close()  # the next attempt is on a fresh connection: there is no third
                    continue
                raise self._mapped(error) from None

    def migrate(self, migrations: Sequence[Migration]) -> None:
        """
        Bring the tables to their newest version, in one transaction; who comes second waits.

        Raises `Misconfigured` if a newer indexer made them.
        """
        if self.version() == len(migrations):
            return
        self.transact(lambda connection: self._migrate(connection, migrations))

    def version(self) -> int:
        """How many migrations were done; nothing is created."""
        return self.transact(_version)

    def facts(self) -> dict[str, Any]:
        """Server version, and whether the connection is encrypted."""

        def ask(connection: Connection[Any]) -> dict[str, Any]:
            info = connection.info
            major, minor = divmod(info.server_version, 10_000)
            return {"server": f"{major}.{minor}", "tls": bool(connection.pgconn.ssl_in_use)}

        return self.transact(ask)

    @contextlib.contextmanager
    def holding(self, key: str) -> Iterator[str]:
        """
        Hold the advisory lock of `key` on a connection of its own; gives who has it instead, or nothing.

        It is that of an open transaction, so that it ends with the connection, also through a pooler.
        """
        try:
            connection = self._connected()
        except self.driver.Error as error:
            raise self._mapped(error) from None
        try:
            try:
                connection.autocommit = False
                connection.execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
                holder = _holder(connection, key)
            except self.driver.Error as error:
                raise self._mapped(error) from None
            yield holder
        finally:
            with contextlib.suppress(self.driver.Error):
                connection.close()

    def close(self) -> None:
        """Close the connection; the next transaction opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(self.driver.Error):
                connection.close()

    def _once(self, work: Work[Result]) -> Result:
        if self._connection is None:
            self._connection = self._connected()
        connection = self._connection
        with connection.transaction():
            limit = str(math.ceil(self._timeout * 1000))
            connection.execute(
                "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)",
                [limit, limit],
            )
            return work(connection)

    def _connected(self) -> Connection[Any]:
        opened: Connection[Any] = self.driver.connect(
            **self._parameters,
            autocommit=True,
            prepare_threshold=None,  # a pooler in between may give each transaction another connection
        )
        return opened

    def _migrate(self, connection: Connection[Any], migrations: Sequence[Migration]) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        connection.execute(
            "CREATE TABLE IF NOT EXISTS indexer_migrations "
            "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        version = _version(connection)  # another process may have been faster
        if version > len(migrations):
            raise Misconfigured(
                f"the registry {self.where} was made by a newer indexer (version {version}, this one knows "
                f"{len(migrations)}); upgrade indexer"
            )
        for number in range(version, len(migrations)):
            migrations[number](connection)
            connection.execute("INSERT INTO indexer_migrations (version) VALUES (%s)", [number + 1])

    def _parsed(self, url: str) -> dict[str, Any]:
        from psycopg.conninfo import conninfo_to_dict

        try:
            given = conninfo_to_dict(url)
        except self.driver.Error as error:
            raise Misconfigured(f"the registry's URL cannot be read: {self._said(error)}") from None
        port, place = str(given.get("port", "")), f"{given.get('host', '')}{given.get('dbname', '')}"
        if not re.fullmatch(r"[\d,]*", port) or "@" in place:  # both would be parts of the password
            raise Misconfigured(
                "the registry's URL cannot be read: write the letters / ? # : @ % of its password as "
                "%2F %3F %23 %3A %40 %25"
            )
        seconds = math.ceil(self._timeout)
        return {
            "connect_timeout": max(2, seconds),
            "keepalives_idle": seconds,
            "keepalives_interval": max(1, seconds // 3),
            "keepalives_count": 3,
            "tcp_user_timeout": seconds * 1000,
            "application_name": APPLICATION,
            "client_encoding": "utf8",
            **given,
        }

    def _said(self, error: Exception) -> str:
        """What driver or server said, on one line, without the password."""
        text = " ".join(str(error).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _mapped(self, error: Exception) -> IndexerError:
        said, where = self._said(error), self.where
        code = getattr(error, "sqlstate", None) or ""
        for prefix, advice in _CONFIGURE.items():
            if code.startswith(prefix):
                return Misconfigured(f"the registry {where} refuses: {said}; {advice}")
        if code in ("57014", "55P03"):
            return Retryable(
                f"the registry {where} did not answer within {self._timeout:g} s "
                f"([registry] timeout): {said}; run again: nothing is lost"
            )
        if not code and isinstance(error, self.driver.OperationalError) and _REFUSED.search(said):
            return Misconfigured(
                f"cannot log in to the registry {where}: {said}; "
                "correct its URL (user, password, database, sslmode)"
            )
        if code.startswith(("08", "53", "57P")) or (
            not code and isinstance(error, self.driver.OperationalError)
        ):
            return Retryable(
                f"the registry {where} cannot be reached: {said}; run again when it answers: nothing is lost"
            )
        return IndexerError(f"the registry {where} failed ({code or type(error).__name__}): {said}")


def _version(connection: Connection[Any]) -> int:
    found = connection.execute("SELECT to_regclass('indexer_migrations') IS NOT NULL").fetchone()
    if not found or not found[0]:
        return 0
    row = connection.execute("SELECT coalesce(max(version), 0) FROM indexer_migrations").fetchone()
    return int(row[0]) if row else 0


def _holder(connection: Connection[Any], key: str) -> str:
    """Take the advisory lock of `key`, or say who has it."""
    got = connection.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [key]).fetchone()
    if got and got[0]:
        return ""
    row = connection.execute(
        "SELECT coalesce(host(client_addr), 'elsewhere'), to_char(xact_start AT TIME ZONE 'UTC', "
        "'YYYY-MM-DD HH24:MI') FROM pg_locks JOIN pg_stat_activity USING (pid) "
        "WHERE locktype = 'advisory' AND granted AND objsubid = 1 "
        "AND (classid::bigint << 32 | objid::bigint) = hashtextextended(%s, 0)",
        [key],
    ).fetchone()
    return f"from {row[0]}, since {row[1]} UTC" if row else "that has just ended"


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise Misconfigured(
            "the registry is on a PostgreSQL server, but its driver is not installed "
            f"({error}); install it with `pip install 'indexer[postgres]'` or `uv sync --extra postgres`"
        ) from None
    return psycopg
