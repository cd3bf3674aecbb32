/// Tests/MartletXTests/A/BTests.swift tests Sources/MartletX/A/B.swift.
///
/// What tests several files at once, or is shared by tests, lies in a folder whose name says so.
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
            return tree.paths.contains(path) ? nil : Finding(file.path, "there is no \(path) that it would test")
        }
    }

    /// SwiftPM wants a file in every target; one that holds only a comment tests nothing yet.
    private static func hasCode(_ file: SourceFile) -> Bool {
        file.scanned.contains { !$0.code.allSatisfy(\.isWhitespace) }
    }
}
