"""What an outcome's reason says of the page that a URL had, and of the next run."""

from __future__ import annotations

from indexer.artifacts import Reason

# what takes away the page that a URL had
FINAL = frozenset(
    (
        Reason.GONE,
        Reason.NOINDEX,
        Reason.REDIRECT,
        Reason.NOT_A_PAGE,
        Reason.UNSUPPORTED,
        Reason.ENCRYPTED,
        Reason.NO_TEXT,
    )
)
# what does so if a second request, later in the run, says it again
DOUBTED = frozenset((Reason.NOT_FOUND, Reason.SOFT_404))
# not the page's fault: settled so in a run that was killed, it is tried again when that is resumed
PASSING = frozenset(
    (
        Reason.ROBOTS_UNAVAILABLE,
        Reason.HTTP_SERVER,
        Reason.RATE_LIMITED,
        Reason.TIMEOUT,
        Reason.UNREACHABLE,
        Reason.BAD_RESPONSE,
        Reason.CHALLENGE,
        Reason.TOO_MANY_REDIRECTS,
        Reason.RENDER_FAILED,
        Reason.EXTRACT_FAILED,
    )
)
ABSENT = (Reason.NOT_FOUND, Reason.GONE)
# verdicts that an unchanged response confirms
LASTING = frozenset(
    (
        Reason.NOINDEX,
        Reason.EMPTY,
        Reason.NOT_A_PAGE,
        Reason.UNSUPPORTED,
        Reason.ENCRYPTED,
        Reason.DAMAGED,
        Reason.NO_TEXT,
        Reason.NEEDS_RENDERING,
        Reason.SOFT_404,
    )
)
SKIPPING = frozenset(
    (
        Reason.ROBOTS,
        Reason.ROBOTS_UNAVAILABLE,
        Reason.OUT_OF_SCOPE,
        Reason.LOGIN,
        Reason.BAD_URL,
        Reason.LIMIT,
        Reason.REDIRECT,
    )
)
# verdicts on an answer that other rules may see otherwise: it is kept, as that of a page is
KEPT = frozenset((Reason.EMPTY, Reason.SOFT_404, Reason.NEEDS_RENDERING, Reason.EXTRACT_FAILED))
