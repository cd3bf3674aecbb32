"""A stream of numbered messages, and when each was sent and came."""

import time

MESSAGE_BYTE_COUNT = 60
# The message that shows that the way is open, before the weather begins.
WARM_UP = 99_999_999


def message(index, now):
    """60 bytes, the last of them the end of a line."""
    text = f"{index:08d} {now:.6f} "
    return text.ljust(MESSAGE_BYTE_COUNT - 1, ".").encode() + b"\n"


class Flow:
    """What was sent and what came; a subclass knows how. All times are of one CLOCK_MONOTONIC, in seconds."""

    name = ""

    def __init__(self):
        self.sent = {}
        self.came = {}
        self.is_warm = False
        self.duplicates = 0
        self.disorders = 0
        self._highest = -1

    def send(self, index):
        now = time.monotonic()
        if index != WARM_UP:
            self.sent[index] = now
        self.write(message(index, now))

    def write(self, data):
        raise NotImplementedError

    def received(self, line, now):
        """A whole message has come."""
        index = int(line[:8])
        if index == WARM_UP:
            self.is_warm = True
            return
        if index in self.came:
            self.duplicates += 1
            return
        if index < self._highest:
            self.disorders += 1
        self._highest = max(self._highest, index)
        self.came[index] = now

    def facts(self):
        """What else there is to know, at the end."""
        return {}
