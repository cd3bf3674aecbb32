"""The entries of the registry, validated, with the placeholders of their texts replaced."""

import json
import re
import sys
import textwrap
from types import SimpleNamespace

PATH = "Specs/registry.json"
NOTICE = f"Generated from {PATH} by Scripts/generate-registries. Do not edit."
COLUMNS = 120
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
# The fields of the entries of each registry after the number or the range, as in Specs/registry.md.
FIELDS = {
    "types": "name doc body case contents byHand about form reliable session sender fragments handshake fields"
             " fieldsText when credit feature receiver",
    "tags": "name compact type swift unit least most parts ranges shown enum enumDoc repeats fields value doc",
    "choices": "tag name text doc",
    "contents": "name about isPublic fields",
    "properties": "type tag name default doc",
    "kinds": "name meaning unread listed doc",
    "features": "name version offers doc holds otherwise",
    "flags": "name meaning doc setBy receiver",
    "codes": "name when sentence doc sentIn fault receiver",
    "forms": "name type shown frame body",
}


class Entry(SimpleNamespace):
    """One number, or one range of numbers. A missing field is None."""

    @property
    def value_of_number(self):
        return int(self.number, 16) if isinstance(self.number, str) else self.number

    @property
    def named_parts(self):
        """The pairs (size, name) of the integers at the start of a value."""
        parts = [part.split() for part in self.parts.split(", ")] if self.parts else []
        return [(SIZES[kind], name) for kind, name in parts]

    @property
    def sizes(self):
        """The sizes of the integers of a value, without the ranges of a sessionAck."""
        if self.type == "integers":
            return [size for size, _ in self.named_parts]
        return [SIZES[self.type]] if self.type in SIZES else []

    @property
    def snake(self):
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).upper()


class Registry:
    """The entries of each registry as an attribute, and those of ranges in `ranges`."""

    def __init__(self, text):
        lists = json.loads(text)
        need(list(lists) == list(FIELDS), f"there must be the lists {', '.join(FIELDS)}")
        self.canonical = canonical(lists)
        self.ranges = {}
        for name, rows in lists.items():
            entries = [entry_of(row, name) for row in rows]
            self.ranges[name] = [entry for entry in entries if entry.range]
            setattr(self, name, [entry for entry in entries if not entry.range])
        self.by_tag = {entry.name: entry for entry in self.tags}
        for entry in self.tags:
            entry.choices = [choice for choice in self.choices if choice.tag == entry.name]
            entry.value, entry.doc = filled(entry, entry.value), filled(entry, entry.doc)
        for entry in self.codes:
            entry.doc = entry.doc or entry.sentence[0].upper() + entry.sentence[1:] + "."
        self.compact = sorted((entry for entry in self.tags if entry.compact), key=lambda entry: entry.compact)
        self.formed = [entry for entry in self.types if entry.form]
        self.listed = [entry for entry in self.types if not entry.byHand]
        for entry in self.types:
            entry.body = entry.body or entry.name[0].upper() + entry.name[1:]
            entry.case = entry.case or entry.name
        self.check()

    def check(self):
        for name in FIELDS.keys() - {"choices", "contents", "properties"}:
            entries = getattr(self, name)
            numbers = [entry.value_of_number for entry in entries]
            need(numbers == sorted(set(numbers)), f"the numbers of {name} are not ascending")
            need(len({entry.name for entry in entries}) == len(entries), f"a name of {name} is repeated")
        need(len({entry.sentence for entry in self.codes}) == len(self.codes), "a sentence is repeated")
        need([entry.compact for entry in self.compact] == codes_from_1(self.compact), "a compact code is missing")
        need([entry.form for entry in self.formed] == codes_from_1(self.formed), "a form is missing")
        need([entry.number for entry in self.features] == list(range(len(self.features))), "a feature's bit is missing")
        layouts = [entry.fields for entry in [*self.types, *self.contents]]
        layouts += [fields for entry in self.tags if entry.fields for fields in entry.fields.values()]
        for name in {field.rstrip("?*+") for layout in layouts for field in layout} | {e.tag for e in self.choices}:
            need(name in self.by_tag, f"there is no tag {name}")
        for entry in self.listed:
            need(entry.about, f"{entry.name} needs the comment of its body, or a reason to be written by hand")

    def repeats(self, name):
        """The maximum number of repetitions of a field."""
        return self.by_tag[name].repeats


def need(condition, problem):
    if not condition:
        sys.exit(f"{PATH}: {problem}")


def entry_of(row, registry):
    fields = ["number", "range", *FIELDS[registry].split()]
    need(row.keys() <= set(fields), f"an entry of {registry} has {sorted(row.keys() - set(fields))}: {row}")
    is_numbered = registry in ("contents", "properties") or ("number" in row) != ("range" in row)
    need(is_numbered, f"an entry of {registry} needs a number or a range: {row}")
    return Entry(**dict.fromkeys(fields) | row)


def codes_from_1(entries):
    return [f"0x{number:02X}" for number in range(1, len(entries) + 1)]


def filled(entry, text):
    """A text of a tag, with the values of other fields in the place of their names."""
    choices = ", ".join(f"{choice.number} {choice.text or choice.name}" for choice in entry.choices)
    numbers = {key: f"{getattr(entry, key) or 0:,}" for key in ("least", "most", "repeats", "ranges")}
    return text.format(type=entry.type, choices=choices, **numbers)


def canonical(lists):
    """The registry as JSON, with one entry in a line."""
    parts = []
    for name, rows in lists.items():
        lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
        parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def bounds(entry):
    """The bounds of a number, or of the number of bytes of a value."""
    found = {"least": entry.least or 0, "most": entry.most}
    if entry.choices:
        found = {"least": entry.choices[0].number, "most": entry.choices[-1].number}
    return {key: number for key, number in found.items() if (key, number) not in (("least", 0), ("most", None))}


def form_types(registry):
    """The pairs (form, type) of all forms that imply their type."""
    by_name = {entry.name: entry for entry in registry.types}
    found = [(entry.form, entry) for entry in registry.formed]
    return found + [(entry.number, by_name[entry.type]) for entry in registry.forms if entry.type]


def grouped(entries, key):
    """The pairs (key, entries) in the order of their first entries."""
    groups = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return groups.items()


def wrapped(words, first, rest=None, end=","):
    """A wrapped list of words whose first line begins with `first` and the others with `rest`."""
    text = textwrap.fill(
        ", ".join(word.replace(" ", "\0") for word in words) + end, COLUMNS, initial_indent=first,
        subsequent_indent=first if rest is None else rest, break_long_words=False, break_on_hyphens=False)
    return text.replace("\0", " ")
