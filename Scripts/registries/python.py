"""The registry in Python, for the reference."""

from registries.model import NOTICE, SIZES, bounds, form_types, wrapped

HEAD = f'''# {NOTICE}
"""The registries of Specs/wire.md 13, and the flags and forms of 3.7 and 15.5."""

from enum import IntFlag

from martlet_basics import Named, Rule, Sessions, Value

CLIENT, SERVER = "client", "server"
BOTH = (CLIENT, SERVER)'''
FLAGS = {"fragments": "allows_fragments", "handshake": "is_handshake"}


def numbers(head, about, rows):
    return f'class {head}:\n    """{about}"""\n\n' + "\n".join(f"    {row}" for row in rows)


def names(name, section, entries):
    return numbers(f"{name}(Named)", section, [f'{e.snake} = {e.number}, "{e.name}"' for e in entries])


def table(name, about, rows):
    return f"# {about}\n{name} = {{\n" + "\n".join(f"    {row}," for row in rows) + "\n}"


def rule(entry):
    session = {"0": "LINK", "any": "ANY"}.get(entry.session, "OWN")
    senders = {"client": "(CLIENT,)", "server": "(SERVER,)"}.get(entry.sender, "BOTH")
    words = [str(entry.reliable), f"Sessions.{session}", senders]
    words += [f"{flag}=True" for key, flag in FLAGS.items() if getattr(entry, key)]
    return f"FrameType.{entry.snake}: Rule({', '.join(words)})"


def value(entry):
    words = [f'"{entry.type}"'] + [f"{key}={number}" for key, number in bounds(entry).items()]
    words += [f"sizes={tuple(entry.sizes)}"] if entry.sizes else []
    return f"Tag.{entry.snake}: Value({', '.join(words)})"


def registry_in_python(registry):
    compact = wrapped([f"Tag.{entry.snake}" for entry in registry.compact], "    ")
    return "\n\n\n".join([
        HEAD, names("FrameType", "13.1", registry.types), names("Tag", "13.2", registry.tags),
        names("ContentKind", "13.3", registry.kinds), names("ErrorCode", "13.5", registry.codes),
        numbers("Features(IntFlag)", "13.4", [f"{e.snake} = 1 << {e.number}" for e in registry.features]),
        numbers("Flags", "3.7, as plain numbers, because every frame is tested for them.", [
            f"{e.snake} = {e.number}" for e in registry.flags]),
        numbers("Form", "15.5, except the forms of types.", [f"{e.snake} = {e.number}" for e in registry.forms]),
        "\n\n".join([
            table("FEATURES", "13.4, by name.", [f'"{e.name}": Features.{e.snake}' for e in registry.features]),
            table("RULES", "13.1's columns.", map(rule, registry.types)),
            table("VALUES", "13.2.", map(value, registry.tags)),
            f"# 15.6: the tags in the order of their codes, from 1.\nCOMPACT_TAGS = (\n{compact}\n)",
            table("TYPE_OF_FORM", "15.5.", [
                f"{form}: FrameType.{entry.snake}" for form, entry in form_types(registry)])]) + "\n"])


BODIES = f'''# {NOTICE}
"""The fields of all bodies and containers (Specs/wire.md 13.1), in the order in which they are encoded."""

from dataclasses import dataclass

from martlet_body import Body, many, maybe, one
from martlet_registry import FrameType, Tag'''


def field(registry, kind, word):
    """One field of a class: its tag, its container in the type, or how often it repeats."""
    entry = registry.by_tag[word.rstrip("?*+")]
    count = {"?": "maybe", "*": "many", "+": "many"}.get(word[-1], "one")
    form = container(entry, kind) if entry.fields else f"Tag.{entry.snake}"
    bounds = f", {entry.repeats}" * (count == "many") + ", least=1" * (word[-1] == "+")
    kind = form if entry.fields else {"text": "str", "name": "str", "integers": "tuple"}.get(entry.type, "bytes")
    kind = "tuple" if count == "many" or entry.shown == "version" else "int" if entry.type in SIZES else kind
    return f"{entry.snake.lower()}: {kind} = {count}({form}{bounds})"


def container(entry, kind):
    """The class of a container. Types with the same fields share one."""
    shared = all(fields == entry.fields[kind] for fields in entry.fields.values())
    return entry.name[0].upper() + entry.name[1:] if shared else f"{kind.capitalize()}{entry.name.capitalize()}"


def body_class(name, fields, kind=None):
    lines = [f"type = FrameType.{kind.snake}"] if kind else []
    lines += [field(*word) for word in fields]
    return "\n".join(["@dataclass(frozen=True, kw_only=True)", f"class {name}(Body):", *(f"    {w}" for w in lines)])


def bodies_in_python(registry):
    found = {}
    for entry in registry.tags:
        for kind, words in (entry.fields or {}).items():
            name = container(entry, kind)
            found[name] = body_class(name, [(registry, kind, word) for word in words])
    for entry in registry.types:
        name = entry.body if entry.body.lower() == entry.name else entry.name.capitalize()
        found[name] = body_class(name, [(registry, entry.name, word) for word in entry.fields], entry)
    return "\n\n\n".join([BODIES, *found.values()]) + "\n"


FILES = {
    "Specs/reference/martlet_registry.py": registry_in_python,
    "Specs/reference/martlet_bodies.py": bodies_in_python,
}
