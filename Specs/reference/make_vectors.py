#!/usr/bin/env python3
"""Writes Specs/vectors/*.json from the expected results in `expected`, which are derived from the specification.

usage: make_vectors.py [--check]    --check fails if a file differs, and writes nothing
"""

import json
import sys
from pathlib import Path

import expected.bodies
import expected.codes
import expected.contents
import expected.conversations
import expected.fields
import expected.framing
import expected.handshake
import expected.links
import expected.messages
import expected.packets
import expected.scram
import expected.sequences
import expected.sessions

FOLDER = Path(__file__).resolve().parent.parent / "vectors"
WIDTH = 120
HEX = 106
MODULES = [expected.framing, expected.bodies, expected.handshake, expected.messages, expected.sessions,
           expected.sequences, expected.conversations, expected.fields, expected.codes,
           expected.links, expected.packets, expected.scram, expected.contents]


def written(value, column=0):
    """JSON that begins at `column`, in lines of at most WIDTH columns, so that a vector has few lines."""
    flat = json.dumps(value)
    if column + len(flat) + 8 <= WIDTH or not isinstance(value, (dict, list)):
        return flat
    inside = column + 1
    if isinstance(value, dict):
        items = [pair(key, item, inside) for key, item in value.items()]
    else:
        items = [written(item, inside) for item in short_hex(value)]
    lines = []
    for item in items:
        if lines and "\n" not in lines[-1] + item and inside + len(lines[-1]) + len(item) + 8 <= WIDTH:
            lines[-1] += ", " + item
        else:
            lines.append(item)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + (",\n" + " " * inside).join(lines) + closing


def pair(key, item, column):
    name = f'"{key}": '
    there = written(item, column + len(name))
    if "\n" not in there and column + len(name) + len(there) + 5 <= WIDTH:
        return name + there
    return name.rstrip() + "\n" + " " * (column + 1) + written(item, column + 1)


def short_hex(items):
    """Long strings of hexadecimal digits in pieces, which a reader concatenates."""
    for item in items:
        if isinstance(item, str) and len(item) > HEX:
            yield from (item[i : i + HEX] for i in range(0, len(item), HEX))
        else:
            yield item


def text_of(file):
    vectors = ",\n".join("  " + written(vector, 2) for vector in file.vectors)
    return f'{{\n "about": {json.dumps(file.about)},\n "needs": "{file.needs}",\n "vectors": [\n{vectors}\n ]\n}}\n'


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    files = [file for module in MODULES for file in module.make()]
    for file in files:
        path = FOLDER / f"{file.name}.json"
        text = text_of(file)
        json.loads(text)
        names = [vector["name"] for vector in file.vectors]
        assert len(names) == len(set(names)), f"{file.name}: a name came twice"
        if check and (not path.exists() or path.read_text() != text):
            stale.append(path.name)
        elif not check:
            path.write_text(text)
    if stale:
        sys.exit(f"make_vectors.py would change {', '.join(stale)}")
    if not check:
        print(f"{sum(len(file.vectors) for file in files)} vectors in {len(files)} files")


if __name__ == "__main__":
    main()
