/// Tests/MartletXTests/A/BTests.swift tests Sources/MartletX/A/B.swift, of the root or of the package Dev.
///
/// Tests of several files, and code shared by tests, are in the folders below.
enum MirrorRule {
    static let foldersWithoutMirror: Set<Substring> = ["Scenarios", "Hostile", "Support", "Vectors"]

    /// Folders of targets that test several modules, and the folders that they test.
    private static let tested = [
        "MartletEngineTests/Client": "Martlet/Engine", "MartletEngineTests/Messages": "Martlet/Engine/Messages",
        "MartletEngineTests/Relay": "MartletRelay/Engine", "MartletEngineTests/Server": "MartletLink/Server",
        "MartletSQLiteTests/Database": "MartletDatabase",
        "MartletSQLiteTests/Outbox": "MartletSQLite", "MartletSQLiteTests/Store": "MartletRelaySQLite",
    ]

    static func findings(in tree: SourceTree) -> [Finding] {
        tree.swiftFiles.compactMap { file in
            guard let tests = file.module(under: "Tests"), tests != "RepositoryTests", !tests.hasSuffix("Support"),
                hasCode(file),
                foldersWithoutMirror.isDisjoint(with: file.components)
            else { return nil }
            guard file.stem.hasSuffix("Tests"), tests.hasSuffix("Tests") else {
                return Finding(file.path, "neither a test of one file nor in \(foldersWithoutMirror.sorted())")
            }
            let folders = file.componentsInPackage.dropFirst().dropLast()
            let folder = folders.joined(separator: "/")
            let name = file.stem.dropLast("Tests".count) + ".swift"
            let own = ([tests.dropLast("Tests".count)] + folders.dropFirst()).joined(separator: "/")
            let found = tested.first { (folder + "/").hasPrefix($0.key + "/") }
            let path = "Sources/" + (found.map { $0.value + folder.dropFirst($0.key.count) } ?? own) + "/" + name
            return tree.paths.contains(path) || tree.paths.contains("Dev/" + path)
                ? nil : Finding(file.path, "its source file \(path) does not exist")
        }
    }

    /// SwiftPM requires a file in every target. A file with comments only is no test.
    private static func hasCode(_ file: SourceFile) -> Bool {
        file.scanned.contains { !$0.code.allSatisfy(\.isWhitespace) }
    }
}
