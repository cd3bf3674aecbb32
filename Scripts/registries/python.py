"""The registry in Python, for the reference."""

from registries.model import NOTICE, bounds, form_types, wrapped

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


FILES = {"Specs/reference/martlet_registry.py": registry_in_python}
