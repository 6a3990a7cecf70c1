"""`python -m indexer`."""

from indexer.cli import main

main()
