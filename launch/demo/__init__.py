"""The demo: an engine (found or set up), a tiny model pair, and the whole job on them."""

from pathlib import Path

HERE = Path(__file__).parent / "engine"  # what the engine's interpreter reads and runs: makers, pins, plug-in
