"""
The engine: plans what is owed, drives the phases, publishes, reports.

Read first: `run` (the main path), `work` (load, phase, save → result), `publish`; for what keeps an
index true overnight: `evidence` (what makes a page go), `quarantine` and `gates` (what is not believed or
published unasked), `telling` (record, digest, notifiers), `many` (projects side by side).
"""
