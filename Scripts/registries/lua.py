"""The registry in Lua, for the dissector."""

import textwrap

from registries.model import COLUMNS, NOTICE, bounds, form_types, wrapped

NUMBERS = """-- Returns a table of numbers by name for a table of names by number.
local function numbers(names)
    local found = {}
    for number, name in pairs(names) do found[name] = number end
    return found
end

"""


def shown(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {shown(item)}" for key, item in value.items()) + " }"
    return f'"{value}"' if isinstance(value, str) else str(value)


def table(name, rows):
    return f"registry.{name} = {{\n" + "\n".join(f"    {row}," for row in rows) + "\n}"


def names(section, name, entries):
    return f"-- §{section}\n" + table(name, [f'[{entry.number}] = "{entry.name}"' for entry in entries])


def rule(entry):
    row = {"reliable": entry.reliable, "session": {"own": "one", "new": "one"}.get(entry.session, entry.session)}
    row |= {"from": entry.sender} if entry.sender != "both" else {}
    return shown(row | {key: True for key in ("fragments", "handshake") if getattr(entry, key)})


def value(entry):
    row = {"type": entry.type} | bounds(entry) | ({"shown": entry.shown} if entry.shown else {})
    parts = ", ".join(f'{{ "{name}", {size} }}' for size, name in entry.named_parts)
    choices = ", ".join(f'[{choice.number}]~=~"{choice.name}"' for choice in entry.choices)
    choices = "\n            ".join(textwrap.wrap(choices, COLUMNS - 40)).replace("~", " ")
    lists = [f"{name} = {{ {text} }}" for name, text in (("parts", parts), ("choices", choices)) if text]
    line = f"{entry.name} = " + ", ".join([shown(row)[:-2], *lists]) + " }"
    return line if len(line) + 5 <= COLUMNS else line.replace(f", {lists[0]}", f",\n        {lists[0]}")


def layouts(registry):
    found = {entry.name: entry.fields for entry in registry.types}
    for entry in registry.tags:
        found |= {f"{entry.name} of {kind}": fields for kind, fields in (entry.fields or {}).items()}
    for name, fields in found.items():
        key = f'["{name}"]' if " " in name else name
        words = [field + (str(registry.repeats(field[:-1])) if field[-1] in "*+" else "") for field in fields]
        line = f'{key} = "{" ".join(words)}"'
        if len(line) + 5 > COLUMNS:
            half = len(words) // 2
            line = f'{key} = "{" ".join(words[:half])} "\n        .. "{" ".join(words[half:])}"'
        yield line


def registry_in_lua(registry):
    lists = {
        "type": ("13.1", registry.types), "tag": ("13.2", registry.tags), "kind": ("13.3", registry.kinds),
        "feature": ("13.4", registry.features), "code": ("13.5", registry.codes), "flag": ("3.7", registry.flags)}
    forms = [(entry.form, entry.name) for entry in registry.formed]
    forms = sorted(forms + [(entry.number, entry.shown) for entry in registry.forms])
    compact = wrapped([f'"{entry.name}"' for entry in registry.compact], "    ")
    return "\n\n".join([
        f"-- {NOTICE}",
        "local registry = {}",
        *(names(section, f"{name}s", entries) for name, (section, entries) in lists.items()),
        NUMBERS + "\n".join(f"registry.{name} = numbers(registry.{name}s)" for name in lists),
        '-- §13.1\'s columns: the session is "0", "one" or "any"; `from` is nil if both endpoints send the type.\n'
        + table("rules", [f"[{entry.number}] = {rule(entry)}" for entry in registry.types]),
        '-- The fields of each type: "name" is required, "name?" is optional, "name*N" occurs 0 to N times, and\n'
        '-- "name+N" 1 to N times.\n' + table("layouts", layouts(registry)),
        "-- §13.2: `least` and `most` are bounds of the number, or of the number of bytes of the value.\n"
        + table("values", [value(entry) for entry in registry.tags]),
        f"-- §15.6: the tags in the order of their codes, from 1.\nregistry.compactTags = {{\n{compact}\n}}",
        "-- §15.5: the names of all forms, the numbers of the forms that are no types, and the types of forms.\n"
        + table("forms", [f'[{form}] = "{name}"' for form, name in forms]),
        table("form", [f"{entry.name} = {entry.number}" for entry in registry.forms]),
        table("typeOfForm", [f"[{form}] = {entry.number}" for form, entry in form_types(registry)]),
        "return registry\n"])


FILES = {"Specs/wireshark/martlet_registry.lua": registry_in_lua}
