#!/usr/bin/env python3
"""Tests the arithmetic of `scale`, and that the guide has what it prints.

usage: test_scale.py
"""

import json
import re
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

folder = Path(__file__).resolve().parent
loader = SourceFileLoader("scale", str(folder / "scale"))
spec = spec_from_loader("scale", loader)
scale = module_from_spec(spec)
loader.exec_module(scale)

FIGURES = {"link": 1024.0, "idle": 1.0, "message": 2.0, "fanout": 100.0, "database": 1000.0}
LOAD = scale.Load(
    clients=864_000, online=0.5, messages=100, members=11, rooms=2, peak=1, cores=4, memory=1, used=0.5)  # fmt: skip


class ScaleTests(unittest.TestCase):
    def test_resources_of_round_figures(self):
        """432,000 links, 1,000 messages a second, 1 µs for a delivery."""
        memory, rooms, processor, database = scale.rows(LOAD, FIGURES)
        self.assertEqual((memory.carries, memory.needed, memory.count), (524_288, 864_000, 2))
        self.assertEqual((rooms.carries, rooms.needed, rooms.count), (262_144, 864_000, 4))
        self.assertEqual((processor.carries, processor.count), (2, 1))
        # Pings 0.432, processing 1,000 × 1 µs, deliveries 11,000 × 1 µs.
        self.assertAlmostEqual(processor.needed, 0.432 + 0.001 + 0.011)
        self.assertEqual((database.carries, database.needed, database.count), (500, 1000, 2))

    def test_bottleneck_is_the_smallest_share(self):
        self.assertEqual(scale.bottleneck(scale.rows(LOAD, FIGURES)).name, "open rooms of a relay")
        slow = FIGURES | {"database": 100.0}
        self.assertEqual(scale.bottleneck(scale.rows(LOAD, slow)).name, "a database")

    def test_figures_of_a_file_replace_recorded_ones(self):
        item = scale.INPUTS["link"]
        series = {"subject": item.subject, "metric": item.metric, "samples": [9000, 7000, 8000]}
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump({"cases": [{"name": item.case, "series": [series]}]}, file)
            file.flush()
            figures = scale.read_figures([file.name])
        self.assertEqual(figures["link"], 8000)
        self.assertEqual(figures["idle"], scale.INPUTS["idle"].value)

    def test_numbers_have_three_digits(self):
        self.assertEqual([scale.number(value) for value in (0.6, 8.004, 4150, 5_053_000)],
                         ["0.6", "8", "4,150", "5,050,000"])  # fmt: skip

    def test_guide_has_the_output(self):
        guide = (folder / "../../Guides/postgres.md").read_text()
        for line in scale.text(scale.Load(), scale.read_figures([])).splitlines():
            self.assertIn(line, guide)

    def test_bound_of_rooms_is_that_of_the_relay(self):
        source = (folder / "../../Sources/MartletRelay/Engine/Rooms.swift").read_text()
        found = re.search(r"static let maxRooms = ([0-9_]+)", source)
        self.assertEqual(int(found.group(1)), scale.MAX_ROOMS)


if __name__ == "__main__":
    unittest.main()
