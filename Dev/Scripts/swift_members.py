"""The members of the types in Swift files: the lines of each function, initializer, subscript and property."""

import os
import re

TYPE = re.compile(r"\b(?:struct|class|enum|extension|actor|protocol)\s+([A-Z][\w.]*)")
FUNCTION = re.compile(r"\bfunc\s+([\w+\-*/=<>!&|]+)|\b(init|deinit|subscript)\b\??\s*[(<{]")
PROPERTY = re.compile(r"\b(?:let|var)\s+(\w+)")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
# The end of a line on which an expression goes on.
UNFINISHED = re.compile(r"[=,(\[?:|&]\s*$")


def members(text):
    """For each line, the name `Type.member` of the member to which it belongs; None for other lines."""
    names = []
    # The open types and the open member: kind, name, and depth of braces.
    scopes = []
    depth = parentheses = 0
    # The kind and name of the declaration whose brace has not been opened.
    pending = None
    for line in text.split("\n"):
        code = STRING.sub('""', line).split("//")[0]
        owner = next((name for kind, name, _ in scopes if kind == "member"), None)
        if owner is None and parentheses == 0:
            types = [name for kind, name, _ in scopes if kind == "type"]
            pending = declaration(code, types[-1].split(".")[-1] if types else "") or pending
        if owner is None and pending and pending[0] == "member":
            owner = pending[1]
        for character in code:
            if character in "([":
                parentheses += 1
            elif character in ")]":
                parentheses -= 1
            elif character == "{":
                depth += 1
                if parentheses == 0 and pending:
                    scopes.append((*pending, depth))
                    pending = None
            elif character == "}":
                if scopes and scopes[-1][2] == depth:
                    scopes.pop()
                depth -= 1
        names.append(owner)
        is_property = pending and pending[0] == "member" and PROPERTY.search(code) and not FUNCTION.search(code)
        if is_property and parentheses == 0 and not UNFINISHED.search(code):
            pending = None
    return names


def declaration(code, type_name):
    """The kind and the name of what a line outside of members declares; None if that is neither type nor member."""
    function = FUNCTION.search(code)
    if function:
        return "member", f"{type_name}.{function.group(1) or function.group(2)}".lstrip(".")
    if found := TYPE.search(code):
        return "type", found.group(1)
    found = PROPERTY.search(code)
    return ("member", f"{type_name}.{found.group(1)}".lstrip(".")) if found else None


class Tree:
    """The lines of the files in Sources, and the places of each member: its files and lines."""

    def __init__(self, root):
        self.lines = {}
        self.places = {}
        for folder, _, files in os.walk(os.path.join(root, "Sources")):
            for name in sorted(files):
                if name.endswith(".swift"):
                    self.read(root, os.path.relpath(os.path.join(folder, name), root))

    def read(self, root, path):
        with open(os.path.join(root, path)) as file:
            text = file.read()
        self.lines[path] = text.split("\n")
        for at, member in enumerate(members(text)):
            if member:
                self.places.setdefault(member, []).append((path, at))
