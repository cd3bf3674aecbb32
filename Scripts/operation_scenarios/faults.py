"""Faults of the system for single processes, by the library in faults.c."""

import os
import pathlib
import struct
import subprocess

from programs import Unavailable

SOURCE = pathlib.Path(__file__).resolve().with_name("faults.c")


class Faults:
    """The wall clock and the files of the processes that have `environment`."""

    def __init__(self, place, folder=None, name="faults"):
        library = place.folder / "faults.so"
        if not library.exists():
            command = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
            try:
                built = subprocess.run(command, capture_output=True)
            except FileNotFoundError:
                raise Unavailable("there is no gcc")
            if built.returncode != 0:
                raise Unavailable(f"gcc: {built.stderr.decode()[:500]}")
        self.file = place.folder / f"{name}.state"
        self.shift, self.is_read_only = 0, False
        self.file.write_bytes(bytes(16))
        self.environment = {**os.environ, "LD_PRELOAD": str(library), "FAULT_STATE": str(self.file)}
        if folder:
            self.environment["FAULT_FOLDER"] = f"{folder}/"

    def change(self, days=None, is_read_only=None):
        """Sets the shift of the clock in days, and whether the files of the folder are read-only."""
        if days is not None:
            self.shift = int(days * 24 * 3600 * 1_000_000_000)
        if is_read_only is not None:
            self.is_read_only = is_read_only
        with self.file.open("r+b") as file:
            file.write(struct.pack("=qq", self.shift, self.is_read_only))
