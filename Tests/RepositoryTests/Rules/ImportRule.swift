/// The permitted imports of each module: the dependencies of its target in a `Package.swift`, and the modules of the
/// system below.
///
/// The compiler finds every module that another target has built already, so an incremental build does not notice an
/// import without a dependency.
struct ImportRule {
    private static let manifests = ["Package.swift", "Dev/Package.swift"]

    private static let cLibraries: Set<String> = ["Glibc", "Musl", "Darwin"]

    /// The modules of the system, by folder in Sources/ and Dev/Sources/. No module of `martlet` imports Foundation,
    /// whose tables would be the most of the program.
    private static let system: [String: Set<String>] = [
        "MartletTransport": cLibraries.union(["Dispatch", "Network", "Synchronization"]),
        "MartletTestKit": ["Synchronization"],
        "Martlet": ["Synchronization", "Observation"],
        "MartletRelay": ["Synchronization", "Observation"],
        "MartletWebhook": ["Dispatch"],
        "MartletS3": ["Dispatch"],
        "MartletDatabase": cLibraries.union(["Dispatch", "Synchronization"]),
        "MartletRelaySQLite": cLibraries.union(["Synchronization"]),
        "MartletPostgres": cLibraries,
        "MartletTimeline": cLibraries,
        "MartletObservation": ["Observation"],
        "MartletDecode": cLibraries,
        "MartletToolSupport": cLibraries.union(["Dispatch", "Synchronization"]),
        "MartletTool": cLibraries.union(["Dispatch", "Synchronization"]),
        "MartletSimulator": ["Synchronization"],
        "MartletDifferential": ["Foundation"],
        "MartletLab": cLibraries.union(["Foundation", "Dispatch", "Synchronization"]),
    ]

    /// By folder below a module: what its files may import besides.
    private static let alsoAllowedInFolders: [String: Set<String>] = [
        // The backend of Network.framework, whose types are those of Foundation and Security. On Linux the folder is a
        // module of its own, with a stand-in for both frameworks.
        "Sources/MartletTransport/Network/": [
            "CMartletCrypto", "Foundation", "MartletTransport", "MartletNetworkStandIn", "Security",
        ],
        // Conveniences with types of Foundation: dates and localized errors. FoundationEssentials has no dependency on
        // the tables of ICU; Apple platforms have Foundation only.
        "Sources/Martlet/Foundation/": ["Foundation", "FoundationEssentials"],
        "Sources/MartletTimeline/Foundation/": ["Foundation", "FoundationEssentials"],
        // Foundation belongs to the system on Apple platforms, where no other library has the normal forms of Unicode.
        "Sources/MartletTool/Format/NormalForm.swift": ["Foundation"],
    ]

    /// The only imports of an engine, and of a link without its driver.
    private static let allowedInEngines: Set<String> = ["MartletLink", "MartletMetrics", "MartletWire"]
    private static let allowedInLink: Set<String> = ["MartletMetrics", "MartletWire"]

    /// The imports permitted to every test, beside those of its module and the dependencies of its target.
    private static let allowedInTests = cLibraries.union(["Testing", "Foundation", "Dispatch", "Synchronization"])

    /// The dependencies of each target, by its name and by that of its folder.
    private let dependencies: [String: Set<String>]

    init(_ tree: SourceTree) {
        var found: [String: Set<String>] = [:]
        for manifest in Self.manifests {
            for target in Self.targets(in: tree[manifest]?.text ?? "") {
                found[target.name, default: []].formUnion(target.dependencies)
                found[target.folder, default: []].formUnion(target.dependencies)
            }
        }
        dependencies = found
    }

    func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, let allowed = allowed(in: file) else { return [] }
        return file.findings { code in
            guard let module = Self.importedModule(code), !allowed.contains(module), module != "Swift" else {
                return nil
            }
            return "import of \(module) is not permitted"
        }
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

    /// A module of the library imports what its target names, other modules also the dependencies of these targets.
    private func allowed(in file: SourceFile) -> Set<String>? {
        if let module = file.module(under: "Sources") {
            if PurityRule.isOfEngine(file) { return Self.allowedInEngines }
            if module == "MartletLink", !file.path.hasPrefix(PurityRule.linkDriver) { return Self.allowedInLink }
            let names = file.components.first == "Dev" ? closure(of: module) : dependencies[module] ?? []
            let folder = Self.alsoAllowedInFolders.first { file.path.hasPrefix($0.key) }
            return names.union(Self.system[module] ?? []).union(folder?.value ?? [])
        }
        guard let tests = file.module(under: "Tests"), tests != "RepositoryTests" else { return nil }
        let tested = String(tests.dropLast("Tests".count))
        return Self.allowedInTests.union(closure(of: tests)).union(Self.system[tested] ?? [])
    }

    /// The dependencies of a target, and theirs.
    private func closure(of target: String) -> Set<String> {
        var found: Set<String> = []
        var rest = dependencies[target] ?? []
        while let name = rest.popFirst() {
            if found.insert(name).inserted { rest.formUnion(dependencies[name] ?? []) }
        }
        return found
    }

    /// The targets of a manifest, with those of this package among their dependencies.
    private static func targets(
        in manifest: String
    ) -> [(name: String, folder: String, dependencies: Set<String>)] {
        let declarations = manifest.split(separator: /\.(?:target|testTarget|executableTarget|systemLibrary)\(/)
        return declarations.dropFirst().compactMap { declaration in
            guard let target = declaration.split(separator: "swiftSettings", maxSplits: 1).first,
                let name = target.prefixMatch(of: /\s*name: "(\w+)"/)?.1
            else { return nil }
            let folder = target.firstMatch(of: /path: "[^"]*?(\w+)"/)?.1 ?? name
            let names = target.matches(of: /"(C?Martlet\w*)"/).map { String($0.1) }
            return (String(name), String(folder), Set(names).subtracting([String(name)]))
        }
    }
}
