"""The registry in Swift: constants of MartletWire, and the forms of values of MartletDecode."""

import textwrap

from registries.model import COLUMNS, NOTICE, grouped, wrapped

WIRE = "Sources/MartletWire/Registry/"
DECODE = "Sources/MartletDecode/Fields/"
FIRST_CONTENT_TAG = 0x0160
UNKNOWN = "default: hexadecimal(rawValue)"
NAME = "The name in the specification, or the number in hexadecimal."


def source(*blocks):
    return "\n\n".join((f"// {NOTICE}", *blocks)) + "\n"


def extension(what, *members, between="\n"):
    return f"extension {what} {{\n{between.join(members)}\n}}"


def comment(text, indent="    "):
    return textwrap.fill(text, COLUMNS, initial_indent=indent + "/// ", subsequent_indent=indent + "/// ")


def computed(kind, entries, access=lambda entry: "public"):
    """Returns constants that other modules can inline."""
    return extension(kind, *(
        f"{comment(entry.doc)}\n    @inlinable\n"
        f"    {access(entry)} static var {entry.name}: {kind} {{ {kind}(rawValue: {entry.number}) }}"
        for entry in entries if entry.doc))


def stored(kind, entries, number):
    return "\n".join(
        f"{comment(entry.doc)}\n    public static let {entry.name} = {kind}(rawValue: {number(entry)})"
        for entry in entries)


def registered(kind, entries, what):
    words = wrapped([f".{entry.name}" for entry in entries], " " * 8)
    return extension(
        kind, comment(f"All {what}s of version 1.0, in the order of their numbers."),
        f"    package static let registered: [{kind}] = [\n{words}\n    ]")


def switch(declaration, doc, cases, of="self"):
    rows = "\n".join(f"        {row}" for row in cases)
    note = comment(doc) + "\n" if doc else ""
    return f"{note}    {declaration} {{\n        switch {of} {{\n{rows}\n        }}\n    }}"


def case(entries, value):
    names = [f".{entry.name}" for entry in entries]
    line = f"case {', '.join(names)}: {value}"
    if len(line) + 8 <= COLUMNS:
        return line
    return wrapped(names, " " * 8 + "case ", " " * 12, ":").lstrip() + f"\n{' ' * 12}{value}"


def names(entries):
    return [f'case .{entry.name}: "{entry.name}"' for entry in entries]


def described(kind, entries):
    return extension(f"{kind}: CustomStringConvertible", switch(
        "public var description: String", NAME, [*names(entries), UNKNOWN]))


def rule(entry):
    scope = {"0": "control", "any": "any"}.get(entry.session, "session")
    words = [f"isReliable: {str(entry.reliable).lower()}", f"scope: .{scope}"]
    words += ["allowsFragments: true"] * bool(entry.fragments) + ["isHandshake: true"] * bool(entry.handshake)
    words += ["isServerOnly: true"] * (entry.sender == "server" and not entry.handshake)
    return f"FrameRule({', '.join(words)})"


def types(registry):
    rules = [case(entries, value) for value, entries in grouped(registry.types, rule)] + ["default: nil"]
    return source(
        computed("FrameType", registry.types), registered("FrameType", registry.types, "type"),
        described("FrameType", registry.types), extension("FrameType", switch(
            "package var rule: FrameRule?", "The rule of the type; nil for an unknown type.", rules)))


def tags(registry):
    def access(entry):
        """Applications read and write the fields of contents."""
        return "public" if entry.value_of_number >= FIRST_CONTENT_TAG else "package"

    return source(computed("Tag", registry.tags, access), registered("Tag", registry.tags, "tag"),
                  described("Tag", registry.tags))


def codes(registry):
    sentences = [f'case .{entry.name}: "{entry.sentence}"' for entry in registry.codes]
    return source(
        computed("ErrorCode", registry.codes), registered("ErrorCode", registry.codes, "code"),
        extension(
            "ErrorCode: CustomStringConvertible",
            switch("public var name: String", NAME, [*names(registry.codes), UNKNOWN]),
            switch("public var description: String",
                   "A sentence for people without a full stop; the number of an unknown code in hexadecimal.",
                   [*sentences, 'default: "error \\(hexadecimal(rawValue))"']),
            between="\n\n"))


def kinds(registry):
    def flag(name, field, doc):
        others = [entry for entry in registry.kinds if not getattr(entry, field)]
        return switch(f"public var {name}: Bool", doc, [case(others, "false"), "default: true"])

    return source(
        extension("ContentKind", stored("ContentKind", registry.kinds, lambda entry: entry.number)),
        registered("ContentKind", registry.kinds, "kind"),
        extension(
            "ContentKind",
            flag("countsAsUnread", "unread", "Whether a message of the kind counts as unread (M-27)."),
            flag("isListed", "listed", "Whether a message of the kind can be the last one of a room in a list (M-28)."),
            between="\n\n"))


def features(registry):
    def of(version):
        return ", ".join(f".{entry.name}" for entry in registry.features if entry.version == version)

    return source(extension(
        "Features", stored("Features", registry.features, lambda entry: f"1 << {entry.number}"), "",
        comment("The features of version 1.0, which endpoints offer by default."),
        f"    public static let supported: Features = [{of('1.0')}]", comment("All features of the newest version."),
        f"    public static let all: Features = supported.union([{of('1.1')}])"))


def flags(registry):
    return source(computed("FrameFlags", registry.flags))


def choices(registry):
    def enum(entry, name, indent):
        cases = "\n".join(
            f"{indent}    /// {choice.doc}\n{indent}    case {choice.name} = {choice.number}"
            for choice in entry.choices if choice.doc)
        access = "package" if indent else "public"
        return (f"{comment(entry.enumDoc, indent)}\n{indent}{access} enum {name}: UInt8, CaseIterable, Sendable {{\n"
                f"{cases}\n{indent}}}")

    blocks = []
    for entry in registry.tags:
        outer, _, name = (entry.enum or "").rpartition(".")
        if name:
            blocks.append(extension(outer, enum(entry, name, "    ")) if outer else enum(entry, name, ""))
    return source(*blocks)


def limits(registry):
    found = [registry.by_tag[name] for name in registry.by_tag["limits"].fields["hello"]]
    return source(extension("Limits", *(
        f"{comment(f'The lowest permitted value of `{tag.name}`.')}\n"
        f"    static let least{tag.name[0].upper()}{tag.name[1:]} = {tag.least:_}" for tag in found)))


def compact_tags(registry):
    rows = []
    for entry in registry.compact:
        tag, code = entry.value_of_number, int(entry.compact, 16)
        if rows and tag - rows[-1][0] == code - rows[-1][1] == rows[-1][2]:
            rows[-1][2] += 1
        else:
            rows.append([tag, code, 1])
    shown = wrapped([f"(0x{tag:04X}, 0x{code:02X}, {count})" for tag, code, count in rows], " " * 8)

    def shape(entry):
        if entry.type == "container" or entry.ranges:
            return ".container" if entry.type == "container" else f".{entry.name}"
        if len(entry.sizes) == 1:
            return f".integer(byteCount: {entry.sizes[0]})"
        return f".integers({entry.sizes})" if entry.sizes else ".bytes"

    cases = [case(found, value) for value, found in grouped(registry.compact, shape) if value != ".bytes"]
    return source(extension(
        "Tag",
        f"{comment('Rows of consecutive tags and codes: first tag, first code, number (W-89).')}\n"
        f"    static let compactRows: [(tag: UInt16, code: UInt8, count: UInt8)] = [\n{shown}\n    ]",
        switch("var compactShape: CompactShape", "The form of the value in a compact TLV.",
               [*cases, "default: .bytes"]), between="\n\n"))


def forms(registry):
    own = grouped([entry for entry in registry.forms if entry.type], lambda entry: entry.type)
    types = [f"case {entry.form}: .{entry.name}" for entry in registry.formed]
    types += [f"case {', '.join(entry.name for entry in entries)}: .{name}" for name, entries in own]
    return source(extension(
        "CompactForm", "\n".join(f"    static let {entry.name}: UInt8 = {entry.number}" for entry in registry.forms),
        switch("static func type(of form: UInt8) -> FrameType?",
               "Returns the type of a form; nil for the form that names its type and for unknown forms.",
               [*types, "default: nil"], of="form"),
        switch("static func form(of type: FrameType) -> UInt8", "Returns the form of a type with compact TLVs.",
               [*(f"case .{entry.name}: {entry.form}" for entry in registry.formed), "default: announcedType"],
               of="type"), between="\n\n"))


def shapes(registry):
    def shape(entry):
        return entry.shown or {"text": "text", "name": "text"}.get(entry.type, "number" if entry.sizes else "bytes")

    cases = [case(found, f"self = .{value}") for value, found in grouped(registry.tags, shape) if value != "bytes"]
    known = ", ".join(f'"{entry.name}"' for entry in registry.features)
    return source(
        "package import MartletWire",
        extension("FieldShape", switch("init(_ tag: Tag)", "Creates the form of a tag's value (Specs/wire.md §13.2).",
                                       [*cases, "default: self = .bytes"], of="tag")),
        extension("ContentKind",
                  f"{comment(NAME)}\n    package var name: String {{ registeredName ?? hex(rawValue, digits: 4) }}",
                  switch("package var registeredName: String?",
                         "The name in the specification; nil if the kind is not registered.",
                         [*names(registry.kinds), "default: nil"]), between="\n\n"),
        extension("Features", comment("The names of the features in the order of their bits."),
                  f"    static let registeredNames = [\n        {known},\n    ]"))


FILES = {
    WIRE + "FrameType+Registry.swift": types,
    WIRE + "Tag+Registry.swift": tags,
    WIRE + "ErrorCode+Registry.swift": codes,
    WIRE + "ContentKind+Registry.swift": kinds,
    WIRE + "Features+Registry.swift": features,
    WIRE + "FrameFlags+Registry.swift": flags,
    WIRE + "Choices+Registry.swift": choices,
    WIRE + "Limits+Registry.swift": limits,
    WIRE + "CompactTag+Registry.swift": compact_tags,
    WIRE + "CompactForm+Registry.swift": forms,
    DECODE + "FieldShape+Registry.swift": shapes,
}
