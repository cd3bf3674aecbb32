/// The registries of the wire's specification, the constants of MartletWire and the dissector's tables say the same.
enum RegistryRule {
    /// A registry: the section of the specification that lists it, the file that declares it, and the type there, or
    /// the table in Lua.
    struct Registry {
        var section: String
        var path: String
        var type: String
    }

    static let specification = "Specs/wire.md"

    private static let dissector = "Specs/wireshark/martlet_registry.lua"

    static let registries = [
        Registry(section: "13.1", path: "Sources/MartletWire/Basics/FrameType.swift", type: "FrameType"),
        Registry(section: "13.2", path: "Sources/MartletWire/Basics/Tag.swift", type: "Tag"),
        Registry(section: "13.3", path: "Sources/MartletWire/Frames/ContentKind.swift", type: "ContentKind"),
        Registry(section: "13.5", path: "Sources/MartletWire/Basics/ErrorCode.swift", type: "ErrorCode"),
        Registry(section: "13.1", path: dissector, type: "types"),
        Registry(section: "13.2", path: dissector, type: "tags"),
        Registry(section: "13.3", path: dissector, type: "kinds"),
        Registry(section: "13.4", path: dissector, type: "features"),
        Registry(section: "13.5", path: dissector, type: "codes"),
    ]

    static func findings(in tree: SourceTree, of registries: [Registry] = registries) -> [Finding] {
        guard let text = tree[specification] else { return [Finding(specification, "is not there")] }
        return registries.flatMap { registry -> [Finding] in
            guard let source = tree[registry.path] else { return [Finding(registry.path, "is not there")] }
            let listed = rows(of: registry.section, in: text)
            let declared = constants(of: registry.type, in: source)
            if listed.isEmpty { return [Finding(specification, "no rows in §\(registry.section)")] }
            return declared.subtracting(listed).sorted().map {
                Finding(registry.path, "\($0) is not in §\(registry.section) of \(specification)")
            }
                + listed.subtracting(declared).sorted().map {
                    Finding(specification, "\($0) of §\(registry.section) is not in \(registry.path)")
                }
        }
    }

    /// The text that says what is done about each number has a row for every type and every code.
    static func findingsOfTreatment(in tree: SourceTree) -> [Finding] {
        guard let numbers = tree[specification], let treatment = tree["Specs/registries.md"] else {
            return [Finding("Specs/registries.md", "is not there")]
        }
        let treated = rows(in: treatment.lines[...])
        return ["13.1", "13.5"].flatMap { rows(of: $0, in: numbers).subtracting(treated) }.sorted().map {
            Finding(treatment.path, "has no row for \($0)")
        }
    }

    /// Number and name of each row of the section's table.
    private static func rows(of section: String, in text: SourceFile) -> Set<String> {
        let start = text.lines.firstIndex { $0.hasPrefix("### \(section) ") } ?? text.lines.endIndex
        let lines = text.lines[start...].dropFirst().prefix { !$0.hasPrefix("#") }
        return rows(in: lines)
    }

    private static func rows(in lines: ArraySlice<Substring>) -> Set<String> {
        Set(lines.compactMap { $0.firstMatch(of: /^\| (0x[0-9A-F]{4}|[0-9]+) \| (\w+) \|/) }.map { "\($0.1) \($0.2)" })
    }

    /// Number and name of each constant of the type, or of each row of the table.
    private static func constants(of type: String, in source: SourceFile) -> Set<String> {
        if source.pathExtension == "lua" { return rows(ofTable: type, in: source) }
        let constants = source.lines.compactMap { line in
            line.firstMatch(of: /static (?:var|let) (\w+)(?:: \w+ \{| =) (\w+)\(rawValue: 0x([0-9A-F]{4})\)/)
        }
        return Set(constants.filter { $0.2 == type }.map { "0x\($0.3) \($0.1)" })
    }

    private static func rows(ofTable name: String, in source: SourceFile) -> Set<String> {
        let start = source.lines.firstIndex { $0 == "registry.\(name) = {" } ?? source.lines.endIndex
        let lines = source.lines[start...].dropFirst().prefix { $0 != "}" }
        return Set(
            lines.compactMap { $0.firstMatch(of: /^ *\[(0x[0-9A-F]{4}|[0-9]+)\] = "(\w+)",$/) }
                .map { "\($0.1) \($0.2)" })
    }
}
