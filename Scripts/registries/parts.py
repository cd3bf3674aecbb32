"""Generated parts of other files: the tables of wire.md and registries.md, and the numbers of the fuzzer."""

import sys

from registries.model import grouped


def table(columns, rows):
    lines = ["|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in (columns, *rows)]
    lines.insert(1, "|" + "---|" * len(columns))
    return "\n".join(lines)


def plain(name, *columns, with_ranges=False):
    """A table with a column for each field; columns are (title, field)."""
    def make(registry):
        entries = getattr(registry, name) + (registry.ranges[name] if with_ranges else [])
        rows = [[cell(entry, field) for _, field in columns] for entry in entries]
        return table([title for title, _ in columns], rows)

    return make


def cell(entry, field):
    value = entry.range if field == "number" and entry.range else getattr(entry, field)
    return "" if value is None else "yes" if value is True else str(value)


def fields(registry, entry):
    words = []
    for field in entry.fields:
        name = field.rstrip("*+")
        marks = {"*": f"{name}…?", "+": f"{name}… (1 to {registry.repeats(name)})" if field[-1] == "+" else ""}
        words.append(marks.get(field[-1], field))
    return entry.fieldsText or ", ".join(words) or "none"


def types(registry):
    sessions = {"own": "a session", "new": "the new session"}
    return table(["type", "name", "reliable", "session", "from", "fields (? optional, … repeated)"], [
        [entry.number, entry.name, "yes" if entry.reliable else "no", sessions.get(entry.session, entry.session),
         entry.sender, fields(registry, entry)] for entry in registry.types])


def contents(registry):
    return table(["content", "fields (? optional, … repeated)"], [
        [entry.name, ", ".join(f"{field[:-1]}…" if field[-1] == "*" else field for field in entry.fields)]
        for entry in registry.contents])


def treatment_of_types(registry):
    def fragments(entry):
        return "yes" if entry.fragments else "no" if entry.fragments is False or not entry.range else ""

    return table(["type", "name", "permitted", "credit", "fragments", "feature", "processing by the receiver"], [
        [cell(entry, "number"), entry.name, entry.when, "yes" if entry.credit else "", fragments(entry), entry.feature,
         entry.receiver] for entry in [*registry.types, *registry.ranges["types"]]])


def forms(registry):
    rows = [[entry.number, entry.frame, entry.body] for entry in registry.forms]
    ends = f"{registry.formed[0].form} to {registry.formed[-1].form}"
    others = ", ".join(entry.name for entry in registry.types if not entry.form)
    rows.insert(1, [ends, f"of the types of §13.1 except {others}, in the table's order", "compact TLVs"])
    return table(["form", "frame", "body"], rows)


def compact(registry):
    groups = grouped(registry.compact, lambda entry: entry.number[:-1] if entry.number < "0x01" else entry.number[:-2])
    return table(["code", "tags, in the order of §13.2"], [
        [f"{entries[0].compact} to {entries[-1].compact}", ", ".join(entry.name for entry in entries)]
        for _, entries in groups])


def fuzz_numbers(registry):
    lines = []
    for kind in ("type", "tag", "kind", "code"):
        for entry in getattr(registry, kind + "s"):
            number = entry.value_of_number
            lines.append(rf'{kind}_{entry.name}="\x{number >> 8:02X}\x{number & 0xFF:02X}"')
    return "\n".join(lines)


PARTS = {
    "Specs/wire.md": {
        "flags": plain("flags", ("bits", "number"), ("name", "name"), ("meaning", "meaning")),
        "types": types,
        "tags": plain("tags", ("tag", "number"), ("name", "name"), ("value", "value")),
        "kinds": plain(
            "kinds", ("kind", "number"), ("name", "name"), ("meaning", "meaning"), ("unread", "unread"),
            ("listed", "listed")),
        "features": plain("features", ("bit", "number"), ("name", "name"), ("an endpoint that offers it", "offers")),
        "codes": plain("codes", ("code", "number"), ("name", "name"), ("meaning", "when")),
        "forms": forms,
        "compact": compact,
    },
    "Specs/relay.md": {"contents": contents},
    "Specs/registries.md": {
        "types": treatment_of_types,
        "flags": plain(
            "flags", ("bits", "number"), ("name", "name"), ("set by", "setBy"),
            ("processing by the receiver", "receiver")),
        "features": plain(
            "features", ("bit", "number"), ("name", "name"), ("if it is in effect", "holds"),
            ("otherwise", "otherwise"), with_ranges=True),
        "codes": plain(
            "codes", ("code", "number"), ("name", "name"), ("sent in", "sentIn"), ("faulty side", "fault"),
            ("processing by the receiver", "receiver"), with_ranges=True),
    },
    "Fuzz/martlet.dict": {"numbers": fuzz_numbers},
}


def with_parts(path, text, registry):
    """The text with its generated parts replaced."""
    mark, blank = ("<!-- {} -->\n", "\n") if path.endswith(".md") else ("# {}\n", "")
    for name, make in PARTS[path].items():
        begin, end = mark.format(f"generated: registry.json {name}"), mark.format("end")
        before, found, after = text.partition(begin)
        _, is_closed, rest = after.partition(end)
        if not found or not is_closed or begin in rest:
            sys.exit(f"{path}: {name} of the registry need one place, between {begin.strip()} and {end.strip()}")
        text = f"{before}{begin}{blank}{make(registry)}\n{blank}{end}{rest}"
    return text
