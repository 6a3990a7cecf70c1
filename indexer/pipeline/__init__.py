"""
The engine: plans what is owed, drives the phases, publishes, reports.

Read first: `run` (the main path), `work` (load, phase, save → result), `publish`.
"""
