"""
What the fork server imports before it forks: each worker's models, loaded once, shared by all.

Importing this module is the work; nothing in it is to be called.
"""

from indexer.extract import metadata, model, reader  # noqa: F401 - imported for the workers
from indexer.pipeline import reading, work  # noqa: F401 - imported for the workers

model.load()
metadata.guess_language("Loads the model of the language detector, which is 70 MB in memory.")
