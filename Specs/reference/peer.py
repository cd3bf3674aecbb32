"""The other implementation, as a process that answers batches of lines."""

import subprocess
import sys
import threading

TIMEOUT = 300


class Peer:
    def __init__(self, tool):
        self.process = subprocess.Popen([tool, "differential"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, lines, count):
        """The first `count` lines of the answers. A process that does not answer before the timeout is ended."""
        guard = threading.Timer(TIMEOUT, self.process.kill)
        guard.start()
        try:
            self.process.stdin.write("".join(line + "\n" for line in [*lines, "."]).encode())
            self.process.stdin.flush()
            answers = [self.process.stdout.readline().decode() for _ in range(count)]
        finally:
            guard.cancel()
        if answers and not answers[-1].endswith("\n"):
            sys.exit(f"the other implementation ended, with status {self.process.wait()}")
        return [answer.strip() for answer in answers]

    def end(self):
        self.process.stdin.close()
        return self.process.wait()
