"""The client `martlet chat` under the contract of README.md: martlet.py PROGRAM HOST PORT"""

import os
import re
import subprocess
import sys

ESCAPES = {r"\\": "\\", r"\n": "\n", r"\r": "\r", r"\[": "["}


def main(program, host, port):
    account, room = os.environ["MARTLET_ACCOUNT"], os.environ["MARTLET_ROOM"]
    chat = subprocess.Popen(
        [program, "chat", "--to", f"martlet://{host}:{port}", "--account", account, "--room", room, "--literal"],
        stdout=subprocess.PIPE, text=True, bufsize=1)
    for line in chat.stdout:
        sender, _, text = line.rstrip("\n").partition(": ")
        if sender != account:
            print(re.sub(r"\\[\\nr[]", lambda found: ESCAPES[found[0]], text), flush=True)
    return chat.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
