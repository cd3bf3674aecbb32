"""A relay in a separate process: its start, its measurement, its end."""

import os
import pathlib
import re
import resource
import subprocess

START_SECONDS, STOP_SECONDS = 10, 10


def add_users(martlet, file, names, password):
    """Writes a password file with these users."""
    for name in names:
        subprocess.run([martlet, "user", "add", name, "--file", file], input=password.encode() + b"\n", check=True,
                       stdout=subprocess.DEVNULL)


class Relay:
    def __init__(self, martlet, options=(), descriptors=None, loops=1, access=("--allow-all",)):
        def bounded():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        # All attacks and the honest pair have the same address.
        command = [
            martlet, "serve", "--listen", "127.0.0.1:0", *access, "--quiet", "--loops", str(loops),
            "--max-connections-per-address", "0"]
        self.process = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            preexec_fn=bounded)
        line = self.process.stdout.readline().decode()
        port = re.search(r"(\d+)\s*$", line)
        if port is None:
            raise OSError(f"the relay does not start: {line!r}")
        self.port = int(port[1])
        self._folder = pathlib.Path("/proc") / str(self.process.pid)

    @property
    def is_alive(self):
        return self.process.poll() is None

    def _status(self, name):
        try:
            return 1024 * int(re.search(rf"{name}:\s+(\d+)", (self._folder / "status").read_text())[1])
        except (OSError, TypeError):
            return 0

    def resident(self):
        """The number of bytes of resident memory."""
        return self._status("VmRSS")

    def most_resident(self):
        """The maximum number of bytes since `forget_most_resident`."""
        return self._status("VmHWM")

    def forget_most_resident(self):
        try:
            (self._folder / "clear_refs").write_text("5")
        except OSError:
            pass  # The relay has ended; the run reports that.

    def processor_seconds(self):
        try:
            fields = (self._folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Ends the relay. Returns its exit code, or None if it was killed."""
        if self.is_alive:
            self.process.terminate()
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        finally:
            self.process.stdout.close()
