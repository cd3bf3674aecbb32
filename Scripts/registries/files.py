"""All files that are generated, as a whole or in parts."""

from registries import bodies, lua, python, swift
from registries.model import PATH, Registry
from registries.parts import PARTS, with_parts

WHOLE = swift.FILES | bodies.FILES | lua.FILES | python.FILES


def generated(read):
    """The generated texts by path, and the registry in its canonical form. `read` returns the text of a path."""
    registry = Registry(read(PATH))
    texts = {path: make(registry) for path, make in WHOLE.items()} | {PATH: registry.canonical}
    return texts | {path: with_parts(path, read(path), registry) for path in PARTS}
