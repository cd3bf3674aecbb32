/// Dependencies point one way: what each module may import, and nothing else.
enum ImportRule {
    private static let cLibraries: Set<String> = ["Glibc", "Musl", "Darwin"]

    /// By folder in Sources/. A folder without a row is itself a finding.
    static let allowedInSources: [String: Set<String>] = [
        "MartletWire": ["CMartletCodec"],
        "MartletProtocol": ["MartletWire"],
        "MartletTransport": cLibraries.union([
            "MartletWire", "CMartletSystem", "CMartletTLS", "Dispatch", "Network", "Synchronization",
        ]),
        "MartletTestKit": ["MartletWire", "MartletProtocol", "MartletTransport", "Synchronization"],
        "Martlet": [
            "MartletWire", "MartletProtocol", "MartletTransport", "MartletAuthentication", "Synchronization",
            "Observation",
        ],
        "MartletAuthentication": ["CMartletCrypto"],
        "MartletRelay": [
            "MartletWire", "MartletProtocol", "MartletTransport", "MartletAuthentication", "CMartletCrypto",
            "Synchronization", "Observation",
        ],
        "MartletDifferential": ["MartletWire", "Foundation"],
        "MartletDecode": cLibraries.union(["MartletWire", "MartletTransport", "CPcap"]),
        "MartletToolSupport": cLibraries.union([
            "MartletWire", "MartletTransport", "CMartletSystem", "Foundation", "Dispatch", "Synchronization",
        ]),
        "MartletTool": cLibraries.union([
            "Martlet", "MartletRelay", "MartletAuthentication", "MartletDecode", "MartletToolSupport", "MartletWire",
            "MartletProtocol", "MartletTransport", "CMartletCrypto", "CMartletSystem", "Foundation", "Dispatch",
            "Synchronization",
        ]),
        "MartletLab": cLibraries.union([
            "Martlet", "MartletRelay", "MartletTestKit", "MartletDecode", "MartletDifferential", "MartletToolSupport",
            "MartletWire", "MartletProtocol", "MartletTransport", "CMartletCrypto", "Foundation", "Dispatch",
            "Synchronization",
        ]),
    ]

    /// Modules of C, whose files this rule does not read.
    static let modulesOfC: Set<String> = [
        "CMartletCodec", "CMartletCrypto", "CMartletSystem", "CMartletTLS", "CPcap",
    ]

    /// What any test may import besides the module under test, what that module may import, and the rows below.
    private static let allowedInTests = cLibraries.union(["Testing", "Foundation", "Dispatch", "Synchronization"])

    /// By folder in Tests/: what its tests may import of the package besides the module they test.
    private static let alsoAllowedInTests: [String: Set<String>] = [
        "MartletWireTests": ["MartletDifferential"],
        "MartletProtocolTests": ["MartletTestKit", "MartletDifferential"],
        "MartletTransportTests": ["MartletTestKit", "MartletToolTestSupport"],
        "MartletRelayTests": ["MartletTestKit"],
        "MartletTests": ["MartletRelay", "MartletTestKit", "MartletToolTestSupport"],
        "MartletDecodeTests": ["MartletLab", "MartletDifferential", "MartletToolTestSupport"],
        "MartletToolTests": ["MartletLab", "MartletToolTestSupport"],
        "MartletLabTests": ["MartletToolTestSupport"],
        "Support": ["MartletDecode", "MartletToolSupport", "MartletTransport", "MartletWire"],
    ]

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, let allowed = allowed(in: file) else { return [] }
        return file.findings { code in
            guard let module = importedModule(code), !allowed.contains(module), module != "Swift" else { return nil }
            return "import of \(module) points the wrong way"
        }
    }

    /// Folders of Sources/ that the table does not know, and rows of the table that have no folder.
    static func findings(forFoldersOf tree: SourceTree) -> [Finding] {
        let folders = tree.folders(in: "Sources")
        let rows = modulesOfC.union(allowedInSources.keys)
        return folders.subtracting(rows).sorted().map { Finding("Sources/\($0)", "no row in the table of imports") }
            + rows.subtracting(folders).sorted().map { Finding("Sources/\($0)", "in the table of imports only") }
    }

    /// The module that a line of code imports, whatever stands before and after.
    static func importedModule(_ code: String) -> String? {
        guard code.contains("import") else { return nil }
        var words = code.split(whereSeparator: { $0 == " " || $0 == "\t" })[...]
        words = words.drop { $0.hasPrefix("@") || accessLevels.contains($0) }
        guard words.popFirst() == "import" else { return nil }
        if let kind = words.first, kinds.contains(kind) { words.removeFirst() }
        return words.first?.split(separator: ".").first.map(String.init)
    }

    private static let accessLevels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
    private static let kinds: Set<Substring> = [
        "struct", "class", "enum", "protocol", "func", "var", "let", "typealias",
    ]

    private static func allowed(in file: SourceFile) -> Set<String>? {
        if let module = file.module(under: "Sources") { return allowedInSources[module] ?? [] }
        guard let tests = file.module(under: "Tests"), tests != "RepositoryTests" else { return nil }
        let tested = String(tests.dropLast("Tests".count))
        return allowedInTests.union(allowedInSources[tested] ?? []).union(alsoAllowedInTests[tests] ?? [])
            .union([tested])
    }
}
