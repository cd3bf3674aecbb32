/// Tests/MartletXTests/A/BTests.swift tests Sources/MartletX/A/B.swift.
///
/// Tests of several files, and code shared by tests, are in the folders below.
enum MirrorRule {
    static let foldersWithoutMirror: Set<Substring> = ["Scenarios", "Hostile", "Support", "Vectors"]

    static func findings(in tree: SourceTree) -> [Finding] {
        tree.swiftFiles.compactMap { file in
            guard let tests = file.module(under: "Tests"), tests != "RepositoryTests", hasCode(file),
                foldersWithoutMirror.isDisjoint(with: file.components)
            else { return nil }
            guard file.stem.hasSuffix("Tests"), tests.hasSuffix("Tests") else {
                return Finding(file.path, "neither a test of one file nor in \(foldersWithoutMirror.sorted())")
            }
            let folders = file.components.dropFirst(2).dropLast()
            let source = ["Sources", tests.dropLast("Tests".count)] + folders
            let path = (source + [file.stem.dropLast("Tests".count) + ".swift"]).joined(separator: "/")
            return tree.paths.contains(path) ? nil : Finding(file.path, "its source file \(path) does not exist")
        }
    }

    /// SwiftPM requires a file in every target. A file with comments only is no test.
    private static func hasCode(_ file: SourceFile) -> Bool {
        file.scanned.contains { !$0.code.allSatisfy(\.isWhitespace) }
    }
}
