"""The bodies in Swift that are lists of fields, and what names each frame type: the cases of `Frame`, random frames and
the JSON of the tests.

The registry has a line in `properties` for each field of a listed type. A type with rules between its fields, or with
another representation than its fields, is written by hand; the registry states the reason in `byHand`.
"""

from registries.model import COLUMNS, SIZES, need, wrapped
from registries.swift import comment, extension, source, switch

WIRE = "Sources/MartletWire/Registry/"
DIFFERENTIAL = "Dev/Sources/MartletDifferential/"
SUPPORT = "Tests/MartletTestSupport/"
TESTS = "Tests/MartletWireTests/Support/"
ERRORS = "    ///\n    /// - Throws: The errors of ``FrameBody/init(parsing:)``."


class Form:
    """The form of a tag's value in Swift: its type, and the expressions that read and write it."""

    def __init__(self, tag):
        self.tag = tag
        self.size = SIZES.get(tag.type)
        integer = f"uint{8 * self.size}" if self.size else None
        self.is_number = bool(self.size and not tag.swift and not tag.choices and not tag.unit)
        self.is_identifier = bool(self.size and tag.swift)
        self.is_enum, self.is_bool = bool(tag.enum), bool(tag.choices and not tag.enum)
        self.is_content, self.is_text = tag.name == "content", tag.type == "text"
        self.is_clipped = self.is_text and not tag.least and bool(tag.most)
        self.is_record = bool(tag.swift and not self.size and tag.type != "name")
        bounds = (tag.least or tag.most) and not (self.is_text or self.is_enum or tag.type == "name" or self.is_record)
        if tag.unit:
            self.type, self.read = "Duration", f"field.duration(.{tag.unit})"
            self.write = lambda value: f"writer.append(.{tag.name}, duration: {value}, .{tag.unit})"
        elif self.is_bool or self.is_enum:
            self.type = "Bool" if self.is_bool else tag.enum
            self.read = "field.bool()" if self.is_bool else "field.choice()"
            number = "{0} ? 1 : 0" if self.is_bool else "{0}.rawValue"
            self.write = lambda value: f"writer.append(.{tag.name}, uint8: {number.format(value)})"
        elif self.is_identifier:
            self.type, self.read = tag.swift, f"{tag.swift}(rawValue: field.{integer}())"
            self.write = lambda value: f"writer.append(.{tag.name}, {integer}: {value}.rawValue)"
        elif self.is_number:
            self.type, self.read = f"UInt{8 * self.size}", f"field.{integer}()"
            if bounds:
                self.read += f".within({self.range}, .{tag.name})"
            self.write = lambda value: f"writer.append(.{tag.name}, {integer}: {value})"
        elif tag.type == "name":
            need(tag.swift, f"{tag.name} needs the type of its name in Swift")
            self.type, self.read = tag.swift, "field.name()"
            self.write = lambda value: f"writer.append(.{tag.name}, name: {value})"
        elif self.is_text:
            self.type, self.read = "String", f"field.string({self.text_bounds})"
            self.write = lambda value: f"writer.append(.{tag.name}, string: {value})"
        elif self.is_record:
            self.type, self.read = tag.swift, f"{tag.swift}(parsing: field)"
            self.write = lambda value: f"{value}.encode(into: &writer)"
        else:
            need(tag.type == "bytes" and not bounds or self.is_content, f"{tag.name} needs a type in Swift")
            self.type, self.read = "[UInt8]", "field.content()" if self.is_content else "field.bytes()"
            self.write = lambda value: f"writer.append(.{tag.name}, bytes: {value})"

    @property
    def range(self):
        """The bounds of a number as a range in Swift."""
        least, most = self.tag.least or 0, self.tag.most
        return f"{least}...{f'UInt{8 * self.size}.max' if most is None else most}"

    @property
    def text_bounds(self):
        least = [f"minByteCount: {self.tag.least}"] if self.tag.least else []
        return ", ".join([*least, f"maxByteCount: {'.max' if self.tag.most is None else self.tag.most}"])


class Property:
    """One field of a body as a property in Swift."""

    def __init__(self, registry, kind, field, row):
        self.tag = field.rstrip("?*+")
        self.form = Form(registry.by_tag[self.tag])
        self.name, self.doc = row.name or self.tag, row.doc
        self.is_list, self.is_required = field[-1] in "*+", field[-1] not in "?*"
        self.is_optional = field[-1] == "?" and not self.form.is_bool
        self.limit = registry.repeats(self.tag)
        self.bound = f"max{self.name[0].upper()}{self.name[1:-1]}Count"
        base = f"[{self.form.type}]" if self.is_list else self.form.type
        self.type = base + "?" * self.is_optional
        usual = "[]" if field[-1] == "*" else "nil" if self.is_optional else None if self.is_required else "false"
        self.usual = row.default or usual
        need(not self.is_list or self.limit, f"{self.tag} of {kind} needs its maximum number of repetitions")

    @property
    def parameter(self):
        return f"{self.name}: {self.type}" + (f" = {self.usual}" if self.usual else "")

    @property
    def rounding(self):
        """What the initializer does to a value, and the sentence about it."""
        mark = "?" * self.is_optional
        if self.form.is_clipped:
            count = self.form.tag.most
            return f"{mark}.clipped(toByteCount: {count})", f"`{self.name}` is truncated to {count} bytes."
        if self.form.tag.unit:
            unit = self.form.tag.unit
            return f"{mark}.roundedDown(to: .{unit})", f"`{self.name}` is rounded down to {unit}."
        return "", ""

    @property
    def condition(self):
        """The condition that the initializer requires, and the sentence about it."""
        tag, name = self.form.tag, self.name
        if self.is_list and self.is_required:
            return f"(1...Self.{self.bound}).contains({name}.count)", f"`{name}` has 1 to ``{self.bound}`` elements."
        if self.is_list:
            return f"{name}.count <= Self.{self.bound}", f"`{name}` has at most ``{self.bound}`` elements."
        if self.form.is_content:
            return f"ContentRules.allow({name})", f"`{name}` consists of well-formed TLVs."
        is_number = self.form.is_number or self.form.is_identifier
        if not (tag.least or tag.most) or not (is_number or self.form.is_text) or self.form.is_clipped:
            return "", ""
        least, most = tag.least or 0, "" if tag.most is None else tag.most
        part = ".utf8.count" if self.form.is_text else ".rawValue" if self.form.is_identifier else ""
        test = f"({least}...{most}).contains({{}}{part})"
        unit = " bytes" if self.form.is_text else ""
        bounds = f"{least} to {most}{unit}" if tag.most is not None else f"at least {least}{unit}"
        return (f"{name}.map {{ {test.format('$0')} }} ?? true" if self.is_optional else test.format(name)), \
            f"`{name}` {'has' if unit else 'is'} {bounds}."

    @property
    def variable(self):
        return f"var {self.name}: [{self.form.type}] = []" if self.is_list else f"var {self.name}: {self.form.type}?"

    @property
    def case(self):
        if self.is_list:
            line = f"try {self.name}.append({self.form.read}, limit: Self.{self.bound})"
        else:
            line = f"try {self.name}.fill(.{self.tag}, {self.form.read})"
        whole = f"            case .{self.tag}: {line}"
        return whole if len(whole) <= COLUMNS else f"            case .{self.tag}:\n                {line}"

    @property
    def assignments(self):
        """The statements that end the parser."""
        name = f".{self.tag}"
        if self.is_list and self.is_required:
            yield f"guard !{self.name}.isEmpty else {{ throw .missingField({name}) }}"
        if self.is_list or self.is_optional:
            yield f"self.{self.name} = {self.name}"
        elif self.is_required:
            yield f"self.{self.name} = try {self.name}.required({name})"
        else:
            yield f"self.{self.name} = {self.name} ?? {self.usual}"
        least = self.form.tag.least
        if self.form.is_identifier and least:
            need(self.is_required, f"the bound of {self.tag} requires that the field is required")
            yield f"guard self.{self.name}.rawValue >= {least} else {{ throw .invalidValue({name}) }}"

    @property
    def encoding(self):
        if self.is_list:
            head, call = f"for item in {self.name}", self.form.write("item")
        elif self.is_optional and self.form.is_record:
            return f"        {self.form.write(self.name + '?')}"
        elif self.is_optional:
            head, call = f"if let {self.name}", self.form.write(self.name)
        elif self.form.is_bool and not self.is_required:
            head, call = f"if {self.name}", f"writer.append(.{self.tag}, uint8: 1)"
        else:
            return f"        {self.form.write(self.name)}"
        whole = f"        {head} {{ {call} }}"
        return whole if len(whole) <= COLUMNS else f"        {head} {{\n            {call}\n        }}"


def call(head, arguments, indent, tail="", end=0):
    """A call or a declaration on one line, or with its arguments below it. `end` is the length of what follows."""
    line = f"{' ' * indent}{head}({', '.join(arguments)}){tail}"
    if len(line) + end <= COLUMNS:
        return line
    close = f"\n{' ' * indent}){tail}" if tail else ")"
    return f"{' ' * indent}{head}(\n{wrapped(arguments, ' ' * (indent + 4), end='')}{close}"


def properties(registry, entry):
    if entry not in registry.contents:
        entry = contents(registry).get(entry.contents, entry)
    rows = {row.tag: row for row in registry.properties if row.type == entry.name}
    fields = [field.rstrip("?*+") for field in entry.fields]
    need(sorted(rows) == sorted(fields), f"the properties of {entry.name} are not its fields")
    return [Property(registry, entry.name, field, rows[field.rstrip("?*+")]) for field in entry.fields]


def initializer(found, access, noun):
    notes = [note for _, note in (item.rounding for item in found) if note]
    conditions = [item.condition for item in found if item.condition[0]]
    yield comment(" ".join([f"Creates the {noun}.", *notes]))
    if conditions:
        text = " ".join(note for _, note in conditions)
        yield "    ///\n" + wrapped_note("- Precondition: " + text)
    if not found:
        yield f"    {access} init() {{}}"
        return
    yield call(f"{access} init", [item.parameter for item in found], 4, " {")
    for test, note in conditions:
        message = note[:-1].replace("`", "")
        line = f'        precondition({test}, "{message}")'
        yield line if len(line) <= COLUMNS else f'        precondition(\n            {test},\n            "{message}")'
    for item in found:
        yield f"        self.{item.name} = {item.name}{item.rounding[0]}"
    yield "    }"


def wrapped_note(text):
    first, *rest = comment(text).split("\n")
    return "\n".join([first, *comment(" ".join(line.strip()[4:] for line in rest), "    ").replace(
        "/// ", "///   ").split("\n")]) if rest else first


def parser(found, access):
    reader = "wholeBodyWithContent" if any(item.form.is_content for item in found) else "wholeBody"
    yield f"    {access}init(parsing body: RawSpan) throws(WireError) {{"
    yield from (f"        {item.variable}" for item in found)
    yield f"        var reader = try TLVReader({reader}: body)"
    if found:
        yield "        while let field = try reader.next() {\n            switch field.tag {"
        yield from (item.case for item in found)
        yield "            default: try field.skip()\n            }\n        }"
    else:
        yield "        while let field = try reader.next() { try field.skip() }"
    yield from (f"        {line}" for item in found for line in item.assignments)
    yield "    }"


def encoder(found, access):
    head = f"    {access}func encode(into writer: inout TLVWriter) {{"
    yield "\n".join([head, *(item.encoding for item in found), "    }"]) if found else head + "}"


def structure(registry, entry, name, about, conforms):
    """A structure with the fields of a type. Applications use the contents of several types, and no frame."""
    is_frame, is_content = conforms == "FrameBody", conforms == "FieldList"
    is_public = entry.isPublic if is_content else not is_frame
    access, coding = "public" if is_public else "package", "package " if is_frame or is_content else ""
    found = properties(registry, entry)
    lists = [
        f"{comment(f'The maximum number of elements of `{item.name}`.')}\n"
        f"    {access} static let {item.bound} = {item.limit}" for item in found if item.is_list]
    lists += [
        f"{comment(f'The maximum number of bytes of `{item.name}`.')}\n"
        f"    package static let max{item.name[0].upper()}{item.name[1:]}ByteCount = {item.form.tag.most}"
        for item in found if item.form.is_text and not item.form.is_clipped and item.form.tag.most]
    stored = [f"{comment(item.doc)}\n    {access} let {item.name}: {item.type}" for item in found]
    kind = [type_constant(entry)] if is_frame else []
    blocks = ["\n".join([*kind, *lists])] * bool(kind or lists) + ["\n".join(stored)] * bool(stored)
    parse, encode = "\n".join(parser(found, coding)), "\n".join(encoder(found, coding))
    if is_frame or is_content:
        note = PARSING if is_frame else PARSING.replace("frame from its body", "content from its fields").replace(
            "FrameBody", "FieldList")
        parse, encode = f"{note}\n{parse}", f"{ENCODING if is_frame else '    /// Appends the fields.'}\n{encode}"
    blocks += ["\n".join(initializer(found, access, "content" if is_content else "frame")), parse, encode]
    return f"{comment(about, '')}\n{access} struct {name}: {conforms} {{\n" + "\n\n".join(blocks) + "\n}"


def type_constant(entry):
    return f"    /// The type `{entry.name}`, {entry.number}.\n    package static let type = FrameType.{entry.name}"


PARSING = f"    /// Creates the frame from its body.\n{ERRORS}"
ENCODING = "    /// Appends the fields of the body."


def wrapper(entry):
    """A structure with the contents of several types."""
    name, kind = entry.contents[0].lower() + entry.contents[1:], entry.contents
    return (f"{comment(entry.about, '')}\npackage struct {entry.body}: FrameBody {{\n{type_constant(entry)}\n\n"
            f"    /// The contents.\n    package let {name}: {kind}\n\n    /// Creates the frame.\n"
            f"    package init(_ {name}: {kind}) {{ self.{name} = {name} }}\n\n{PARSING}\n"
            f"    package init(parsing body: RawSpan) throws(WireError) {{ {name} = try {kind}(parsing: body) }}\n\n"
            f"{ENCODING}\n"
            f"    package func encode(into writer: inout TLVWriter) {{ {name}.encode(into: &writer) }}\n}}")


def contents(registry):
    """The pairs of the contents of several types, and the first of these types."""
    return {entry.contents: entry for entry in reversed(registry.listed) if entry.contents}


def bodies(registry):
    blocks = []
    for entry in registry.listed:
        if contents(registry).get(entry.contents) is entry:
            names = " and ".join(f"`{other.name}`" for other in registry.listed if other.contents == entry.contents)
            blocks.append(structure(
                registry, entry, entry.contents, f"The contents of {names}.", "Equatable, Sendable"))
        blocks.append(
            wrapper(entry) if entry.contents else structure(registry, entry, entry.body, entry.about, "FrameBody"))
    return source(*blocks)


def field_lists(registry):
    """The contents of requests and responses that are lists of fields, which tests of frames do not name."""
    return source(*(structure(registry, entry, entry.name, entry.about, "FieldList") for entry in registry.contents))


def frame(registry):
    cases = "\n".join(f"{comment(entry.doc)}\n    case {entry.case}({entry.body})" for entry in registry.types)
    parse = [f"case .{e.name}: .{e.case}(try {e.body}(parsing: body))" for e in registry.types]
    return source(
        f"{comment(FRAME, '')}\npackage enum Frame: Equatable, Sendable {{\n{cases}\n"
        "    /// A frame of an unknown type that is not critical.\n    case unknown(FrameType)\n}",
        extension(
            "Frame",
            f"{comment('Parses the complete body of a frame type.')}\n    ///\n"
            "    /// - Throws: `WireError.unknownCriticalFrame`, or the errors of ``FrameBody/init(parsing:)``.\n"
            + switch("package static func parse(type: FrameType, body: RawSpan) throws(WireError) -> Frame", "",
                     [*parse, "default: try unknown(checking: type)"], of="type"),
            switch("package var type: FrameType", "The type in the header of the frame.",
                   [*(f"case .{e.case}: .{e.name}" for e in registry.types), "case .unknown(let type): type"]),
            switch("package func encode() -> [UInt8]", "Returns the encoded body; empty for an unknown type.",
                   [*(f"case .{e.case}(let body): body.encode()" for e in registry.types), "case .unknown: []"]),
            between="\n\n"))


FRAME = "The parsed body of a frame of any type. Engines parse `data` after reassembly, as a ``MessageView``."


def shown(item):
    """A property as JSON."""
    form, name, mark = item.form, item.name, "?" * item.is_optional
    number = "wide" if form.size == 8 else "number"
    if item.is_list:
        return f".many({name}.map(\\.json))"
    if form.tag.unit:
        return f".time({name}, per: .{form.tag.unit}(1))"
    if form.is_bool:
        return f".number({name} ? 1 : 0)" if item.is_required else f"{name} ? .number(1) : nil"
    if form.is_identifier or form.is_enum:
        return f"{name}{mark}.json" if form.tag.shown == "version" else f".{number}({name}{mark}.rawValue)"
    if form.is_number:
        return f".{number}({name})"
    if form.is_text or form.tag.type == "name":
        return f".{'text' if form.is_text else 'name'}({name})"
    return f"{name}{mark}.json" if form.is_record else f".{'tree' if form.is_content else 'bytes'}({name})"


def made(item):
    """A random value of a property."""
    form = item.form
    number = f"source.number({form.range})" if form.size else ""
    if form.tag.unit:
        value = f"source.duration(per: .{form.tag.unit}(1))"
    elif form.is_identifier:
        value = f"{form.type}(rawValue: {number})"
    elif form.is_record:
        value = f"source.{form.type[0].lower()}{form.type[1:]}()"
    elif form.is_text:
        value = f"source.text({form.tag.least or 0}...{form.tag.most or 1000})"
    else:
        fixed = {form.is_bool: "flip()", form.is_enum: "choice()", form.is_content: "content()",
                 form.tag.type == "name": "name()", form.tag.type == "bytes": "bytes()"}
        value = number if form.is_number else f"source.{fixed[True]}"
    if item.is_list:
        least = 1 if item.is_required else 0
        return f"{item.name}: source.list({least}...{item.limit}) {{ {value.replace('source', '$0')} }}"
    if item.is_optional:
        return f"{item.name}: source.maybe {{ {value.replace('source', '$0')} }}"
    return f"{item.name}: {value}"


def with_contents(registry):
    """The names of all structures, and the properties of each."""
    for entry in registry.listed:
        if entry.contents is None:
            yield entry.body, properties(registry, entry)
    for name, entry in contents(registry).items():
        yield name, properties(registry, entry)


def json(registry):
    blocks = []
    for name, found in with_contents(registry):
        pairs = [f'"{item.tag}": {shown(item)}' for item in found]
        text = wrapped(pairs, " " * 12) if pairs else ""
        line = f"        [{', '.join(pairs) or ':'}]"
        blocks.append(extension(
            name, "    var json: [String: JSONValue?] {\n"
            + (line if len(line) <= COLUMNS else f"        [\n{text}\n        ]") + "\n    }"))
    cases = [f"case .{e.case}(let body): body{f'.{e.contents.lower()}' if e.contents else ''}.json"
             for e in registry.types]
    return source(
        "import MartletWire",
        extension("Frame", switch("var fields: [String: JSONValue?]", "The fields of the body.",
                                  [*cases, "case .unknown: [:]"])), *blocks)


SOURCE = """/// A source of random values for the fields of frames.
package protocol FieldSource {
    mutating func number(_ bounds: ClosedRange<UInt64>) -> UInt64
    mutating func text(_ byteCounts: ClosedRange<Int>) -> String
    mutating func name<Name: WireName>() -> Name
    mutating func duration(per unit: Duration) -> Duration
    mutating func flip() -> Bool
    mutating func bytes() -> [UInt8]
    mutating func content() -> [UInt8]
    mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value?
    mutating func list<Value>(_ counts: ClosedRange<Int>, _ make: (inout Self) -> Value) -> [Value]
RECORDS
}

extension FieldSource {
    package mutating func number<Number: FixedWidthInteger & UnsignedInteger>(_ bounds: ClosedRange<Number>) -> Number {
        Number(number(UInt64(bounds.lowerBound)...UInt64(bounds.upperBound)) as UInt64)
    }

    package mutating func choice<Choice: CaseIterable>() -> Choice {
        let all = Array(Choice.allCases)
        return all[number(0...all.count - 1)]
    }

    package mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? { flip() ? make(&self) : nil }
}"""


def random(registry):
    types = {item.form.type for _, found in with_contents(registry) for item in found if item.form.is_record}
    records = "\n".join(f"    mutating func {kind[0].lower()}{kind[1:]}() -> {kind}" for kind in sorted(types))
    blocks = [SOURCE.replace("RECORDS", records).replace("all[number(0...all.count - 1)]", CHOICE)]
    for name, found in with_contents(registry):
        value = call("self.init", [made(item) for item in found], 8)
        blocks.append(extension(name, f"    package init(from source: inout some FieldSource) {{\n{value}\n    }}"))
    wrap = "{0}({1}(from: &source))".format
    cases = [f"case .{e.name}: .{e.case}({wrap(e.body, e.contents) if e.contents else e.body + '(from: &source)'})"
             for e in registry.listed]
    listed = wrapped([f".{entry.name}" for entry in registry.listed], " " * 8)
    blocks.append(extension("FrameType", comment("The types whose body is a list of fields."),
                            f"    package static let listed: [FrameType] = [\n{listed}\n    ]"))
    blocks.append(extension("Frame", switch(
        "package init?(listed type: FrameType, from source: inout some FieldSource)",
        "Creates a random frame of a type whose body is a list of fields; nil for any other type.",
        [*(line.replace(": ", ": self = ", 1) for line in cases), "default: return nil"], of="type")))
    return source("package import MartletWire", *blocks)


CHOICE = "all[Int(number(0...UInt64(all.count - 1)) as UInt64)]"


def cases(registry):
    rows = []
    for entry in registry.listed:
        found = properties(registry, entry)
        texts = [item for item in found if item.form.tag.type in ("text", "name")]
        opaque = [item for item in found if item.form.tag.type == "bytes"]
        parts = [f".{entry.name}", f"required: [{', '.join(f'.{i.tag}' for i in found if i.is_required)}]"]
        lists = {"repeats": [f".{i.tag}: {i.limit}" for i in found if i.is_list],
                 "texts": [f".{i.tag}: {i.form.tag.least or 0}...{i.form.tag.most}" for i in texts],
                 "opaque": [f".{i.tag}" for i in opaque]}
        parts += [f"{name}: [{', '.join(items)}]" for name, items in lists.items() if items]
        rows.append(call("FrameCase", parts, 4, end=2))
    return source("import MartletWire", "/// The types whose body is a list of fields.\nlet listedFrameCases = [\n"
                  + ",\n".join(rows) + ",\n]")


FILES = {
    WIRE + "Frame+Registry.swift": frame,
    WIRE + "FrameBody+Registry.swift": bodies,
    WIRE + "FieldList+Registry.swift": field_lists,
    DIFFERENTIAL + "Frame+Registry.swift": json,
    SUPPORT + "FieldSource+Registry.swift": random,
    TESTS + "FrameCases+Registry.swift": cases,
}
