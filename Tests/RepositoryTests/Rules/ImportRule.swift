/// The permitted imports of each module.
enum ImportRule {
    private static let cLibraries: Set<String> = ["Glibc", "Musl", "Darwin"]

    /// By folder in Sources/ and Dev/Sources/. A folder without a row is a finding. No module of `martlet` imports
    /// Foundation, whose tables would be the most of the program.
    static let allowedInSources: [String: Set<String>] = [
        "MartletWire": ["CMartletCodec"],
        "MartletLink": ["MartletWire"],
        "MartletTransport": cLibraries.union([
            "MartletWire", "CMartletSystem", "CMartletTLS", "Dispatch", "Network", "Synchronization",
        ]),
        "MartletTestKit": [
            "Martlet", "MartletRelay", "MartletWire", "MartletLink", "MartletTransport", "Synchronization",
        ],
        "Martlet": [
            "MartletWire", "MartletLink", "MartletTransport", "MartletAuthentication", "Synchronization",
            "Observation",
        ],
        "MartletAuthentication": ["CMartletCrypto"],
        "MartletRelay": [
            "MartletWire", "MartletLink", "MartletTransport", "MartletAuthentication", "CMartletCrypto",
            "Synchronization", "Observation",
        ],
        "MartletWebhook": [
            "MartletRelay", "MartletAuthentication", "MartletWire", "MartletLink", "MartletTransport",
            "CMartletCrypto", "CMartletHTTP", "Dispatch",
        ],
        "MartletDatabase": cLibraries.union([
            "MartletWire", "MartletTransport", "CMartletSQLite", "Dispatch", "Synchronization",
        ]),
        "MartletSQLite": ["Martlet", "MartletDatabase", "MartletWire", "MartletLink", "MartletTransport"],
        "MartletRelaySQLite": cLibraries.union([
            "MartletRelay", "MartletDatabase", "MartletWire", "MartletLink", "MartletTransport", "Synchronization",
        ]),
        "MartletTimeline": cLibraries.union([
            "Martlet", "MartletSQLite", "MartletDatabase", "MartletWire", "MartletLink", "MartletTransport",
        ]),
        "MartletObservation": ["Martlet", "MartletTimeline", "MartletLink", "MartletWire", "Observation"],
        "MartletSimulator": [
            "Martlet", "MartletRelay", "MartletTestKit", "MartletWire", "MartletLink", "MartletTransport",
            "Synchronization",
        ],
        "MartletDifferential": ["MartletWire", "MartletTestSupport", "Foundation"],
        "MartletDecode": cLibraries.union(["MartletWire", "MartletTransport", "CMartletPcap"]),
        "MartletToolSupport": cLibraries.union([
            "MartletAuthentication", "MartletWire", "MartletTransport", "CMartletSystem", "Dispatch", "Synchronization",
        ]),
        "MartletTool": cLibraries.union([
            "Martlet", "MartletRelay", "MartletSQLite", "MartletRelaySQLite", "MartletDatabase",
            "MartletAuthentication", "MartletDecode", "MartletToolSupport",
            "MartletWebhook", "MartletWire", "MartletLink", "MartletTransport", "CMartletCrypto", "CMartletSystem",
            "Dispatch", "Synchronization",
        ]),
        "MartletLab": cLibraries.union([
            "Martlet", "MartletRelay", "MartletSQLite", "MartletRelaySQLite", "MartletDatabase",
            "MartletAuthentication", "MartletTestKit", "MartletDecode", "MartletTimeline", "MartletDifferential",
            "MartletSimulator", "MartletToolSupport", "MartletWire", "MartletLink", "MartletTransport",
            "CMartletCrypto", "Foundation", "Dispatch", "Synchronization",
        ]),
    ]

    /// By folder below a module: what its files may import besides.
    private static let alsoAllowedInFolders: [String: Set<String>] = [
        // The backend of Network.framework, whose types are those of Foundation and Security. On Linux the folder is a
        // module of its own, with a stand-in for both frameworks.
        "Sources/MartletTransport/Network/": [
            "CMartletCrypto", "Foundation", "MartletTransport", "MartletNetworkStandIn", "Security",
        ],
        PurityRule.linkDriver: ["MartletTransport", "MartletAuthentication"],
        // Conveniences with types of Foundation: dates and localized errors. FoundationEssentials has no dependency on
        // the tables of ICU; Apple platforms have Foundation only.
        "Sources/Martlet/Foundation/": ["Foundation", "FoundationEssentials"],
        "Sources/MartletTimeline/Foundation/": ["Foundation", "FoundationEssentials"],
        // Foundation belongs to the system on Apple platforms, where no other library has the normal forms of Unicode.
        "Sources/MartletTool/Format/NormalForm.swift": ["Foundation"],
    ]

    /// The only imports of an engine.
    private static let allowedInEngines: Set<String> = ["MartletLink", "MartletWire"]

    /// C modules, whose files this rule does not read.
    static let modulesOfC: Set<String> = [
        "CMartletCodec", "CMartletCrypto", "CMartletHTTP", "CMartletSystem", "CMartletTLS", "CMartletPcap",
        "CMartletSQLite",
    ]

    /// The imports permitted to every test, beside its module, that module's imports, and the rows below.
    private static let allowedInTests = cLibraries.union(["Testing", "Foundation", "Dispatch", "Synchronization"])

    /// By folder in Tests/ and Dev/Tests/: further modules of the package that its tests may import.
    private static let alsoAllowedInTests: [String: Set<String>] = [
        "MartletWireTests": ["MartletTestSupport"],
        "MartletLinkTests": ["MartletTestSupport", "MartletTransport"],
        "MartletEngineTests": [
            "Martlet", "MartletRelay", "MartletLink", "MartletWire", "MartletTestKit", "MartletTestSupport",
            "MartletDifferential", "MartletSimulator",
        ],
        "MartletDifferentialTests": [
            "MartletDecode", "MartletLink", "MartletTestSupport", "MartletToolTestSupport",
        ],
        "MartletProgramTests": [
            "Martlet", "MartletDatabase", "MartletLab", "MartletRelay", "MartletToolTestSupport", "MartletTransport",
            "MartletWire",
        ],
        "MartletTestSupport": ["MartletWire"],
        "MartletTransportTests": ["MartletTestKit", "MartletToolTestSupport", "MartletTLSForge"],
        "MartletTests": ["MartletRelay", "MartletTestKit", "MartletToolTestSupport"],
        "MartletSQLiteTests": [
            "MartletRelaySQLite", "MartletRelay", "MartletFaultVFS", "MartletTestSupport", "MartletToolTestSupport",
        ],
        "MartletStorageTests": [
            "Martlet", "MartletAuthentication", "MartletDatabase", "MartletFaultDisk", "MartletLink", "MartletRelay",
            "MartletSQLite", "MartletRelaySQLite", "MartletTimeline", "MartletTransport", "MartletWire",
        ],
        "MartletTestKitTests": ["Martlet", "MartletRelay"],
        "MartletTimelineTests": ["MartletRelay", "MartletTestKit", "MartletTestSupport"],
        "MartletObservationTests": ["MartletRelay", "MartletSQLite", "MartletRelaySQLite"],
        "MartletDecodeTests": ["MartletToolTestSupport"],
        "MartletToolTests": ["MartletToolTestSupport"],
        "MartletLabTests": ["MartletToolTestSupport"],
        "MartletNetworkTests": [
            "MartletNetworkTransport", "MartletToolTestSupport", "MartletTransport", "MartletWire",
            "MartletNetworkStandIn",
        ],
        "Support": ["MartletDecode", "MartletToolSupport", "MartletTransport", "MartletWire"],
    ]

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, let allowed = allowed(in: file) else { return [] }
        return file.findings { code in
            guard let module = importedModule(code), !allowed.contains(module), module != "Swift" else { return nil }
            return "import of \(module) is not permitted"
        }
    }

    /// Folders of Sources/ without a row, and rows without a folder.
    static func findings(forFoldersOf tree: SourceTree) -> [Finding] {
        let folders = tree.folders(in: "Sources")
        let rows = modulesOfC.union(allowedInSources.keys)
        return folders.subtracting(rows).sorted().map { Finding("Sources/\($0)", "no row in the table of imports") }
            + rows.subtracting(folders).sorted().map { Finding("Sources/\($0)", "a row without a folder") }
    }

    /// The module that a line of code imports; nil for other lines.
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
        if let module = file.module(under: "Sources") {
            if PurityRule.isOfEngine(file) { return allowedInEngines }
            let folder = alsoAllowedInFolders.first { file.path.hasPrefix($0.key) }
            return (allowedInSources[module] ?? []).union(folder?.value ?? [])
        }
        guard let tests = file.module(under: "Tests"), tests != "RepositoryTests" else { return nil }
        let tested = String(tests.dropLast("Tests".count))
        return allowedInTests.union(allowedInSources[tested] ?? []).union(alsoAllowedInTests[tests] ?? [])
            .union([tested])
    }
}
