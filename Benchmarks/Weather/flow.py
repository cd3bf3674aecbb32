"""A stream of numbered messages, with the times of sending and arrival."""

import time

MESSAGE_BYTE_COUNT = 60
# The message that shows that the connection works, before the faults begin.
WARM_UP = 99_999_999


def message(index, now):
    """60 bytes, the last of them a newline."""
    text = f"{index:08d} {now:.6f} "
    return text.ljust(MESSAGE_BYTE_COUNT - 1, ".").encode() + b"\n"


class Flow:
    """The sent and received messages, for a subclass. All times are seconds of one CLOCK_MONOTONIC."""

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
        """Records a received message."""
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
        """Further statistics at the end."""
        return {}
