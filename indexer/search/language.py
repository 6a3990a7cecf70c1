"""Which of some languages a question is in."""

from __future__ import annotations

from collections.abc import Collection

from indexer.search.vocabulary import Vocabulary


def language_of(question: str, languages: Collection[str], *, vocabulary: Vocabulary, default: str) -> str:
    """
    The one of `languages` that `question` is in; `default` where it does not show, if it is one of them.

    By letters and small words where the vocabulary knows all of them, else by py3langid.
    """
    if set(languages) <= set(vocabulary.languages):
        found = vocabulary.detect(question, default=default)
    else:
        import py3langid

        ranked = (language for language, _ in py3langid.rank(question))
        found = next((language for language in ranked if language in languages), default)
    return found if found in languages else default if default in languages else ""
