"""Runs the conformance kit from this folder; Scripts/build-conformance makes an archive of it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reference"))

import program  # noqa: E402

program.main()
