"""The time of day, as it is written into catalogues and records; never into an artifact."""

from datetime import UTC, datetime


def now() -> str:
    """UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
