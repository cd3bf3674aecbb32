/// Names in a space that Martlet shares with other libraries of a process begin with the name of the project: the
/// symbols of C, the names of Objective-C, and the variables of the environment.
enum GlobalNameRule {
    /// Variables that other programs define.
    private static let foreign: Set<Substring> = ["USER", "TERM", "NO_COLOR"]
    private static let exports = ["@objc", "@_cdecl", "@_expose", "NSObject"]
    private static let reads = ["environment[\"", "getenv(\""]

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isInSources else { return [] }
        if file.pathExtension == "h" {
            return file.lines.indices.filter { isForeignFunction(file.lines[$0]) }.map {
                Finding(file.path, line: $0 + 1, "a function of C without the prefix martlet_")
            }
        }
        guard file.isSwift else { return [] }
        return file.findings { code in
            exports.first { code.containsWord($0) }.map { "\($0) adds a global name without a rule for its prefix" }
        } + variables(in: file)
    }

    private static func isForeignFunction(_ line: Substring) -> Bool {
        line.first?.isLowercase == true && line.contains("(") && !line.contains("martlet_")
    }

    private static func variables(in file: SourceFile) -> [Finding] {
        let present = file.present(reads)
        guard !present.isEmpty else { return [] }
        return file.lines.enumerated().flatMap { index, line in
            present.flatMap { line.ranges(of: $0) }.compactMap { range in
                let name = line[range.upperBound...].prefix { $0 != "\"" }
                guard !name.hasPrefix("MARTLET_"), !foreign.contains(name) else { return nil }
                return Finding(file.path, line: index + 1, "the variable \(name) without the prefix MARTLET_")
            }
        }
    }
}
