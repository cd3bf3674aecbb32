/// Each requirement of the specifications is cited in the code that implements it and in a test that requires it.
///
/// A requirement is a paragraph of a normative document that begins with its number in bold, unless *Informative*
/// follows, and a row of Specs/hostile.md. Only citations in comments count, not those in names and strings.
enum RequirementRule {
    /// The normative documents by the first letter of their clauses.
    static let documents = [
        "C": "Specs/connection.md", "M": "Specs/messages.md", "R": "Specs/relay.md", "S": "Specs/session.md",
        "W": "Specs/wire.md",
    ]
    static let hostile = "Specs/hostile.md"

    /// A numbered clause of a document.
    struct Clause {
        var name: String
        var path: String
        var line: Int
        var isInformative = false
    }

    static func findings(in tree: SourceTree) -> [Finding] {
        let clauses = clauses(in: tree)
        let empty = (documents.values + [hostile]).filter { path in !clauses.contains { $0.path == path } }
        let names = Dictionary(grouping: clauses, by: \.name)
        let again = names.values.flatMap { $0.dropFirst() }
        return empty.sorted().map { Finding($0, "has no requirements") }
            + again.map { Finding($0.path, line: $0.line, "\($0.name) is defined twice") }
            + uncited(clauses, under: "Sources", in: tree) + uncited(clauses, under: "Tests", in: tree)
    }

    /// All numbered clauses, informative ones included.
    static func clauses(in tree: SourceTree) -> [Clause] {
        documents.sorted { $0.key < $1.key }.flatMap { letter, path in
            numbered(tree[path]) { line in
                guard let match = line.firstMatch(of: /^\*\*([A-Z])-([0-9]+)\*\*( \*Informative\.\*)?/),
                    match.1 == letter
                else { return nil }
                return ("\(letter)-\(match.2)", match.3 != nil)
            }
        }
            + numbered(tree[hostile]) { line in
                line.firstMatch(of: /^\| ([0-9]+) \|/).map { ("row \($0.1)", false) }
            }
    }

    private static func numbered(_ file: SourceFile?, _ name: (Substring) -> (String, Bool)?) -> [Clause] {
        guard let file else { return [] }
        return file.lines.enumerated().compactMap { index, line in
            name(line).map { Clause(name: $0.0, path: file.path, line: index + 1, isInformative: $0.1) }
        }
    }

    private static func uncited(_ clauses: [Clause], under folder: String, in tree: SourceTree) -> [Finding] {
        let cited = tree.files.filter {
            $0.componentsInPackage.first == folder[...] && $0.module(under: "Tests") != "RepositoryTests"
        }
        .reduce(into: Set<String>()) { $0.formUnion(citations(in: $1)) }
        return clauses.filter { !$0.isInformative && !cited.contains($0.name) }.map {
            Finding($0.path, line: $0.line, "\($0.name) is not cited under \(folder)")
        }
    }

    /// The citations in the comments of a Swift file, and in the lines of a C file, where comments are few.
    private static func citations(in file: SourceFile) -> [String] {
        let lines =
            file.isSwift
            ? file.scanned.map { $0.comment.drop { $0 == "/" || $0 == " " } }
            : ["c", "h"].contains(file.pathExtension) ? file.lines : []
        // A row may be on the line after its document.
        let text = lines.joined(separator: " ")
        return text.matches(of: /\b[CMRSW]-[0-9]+\b/).map { String($0.0) }
            + text.matches(of: /Specs\/hostile\.md (row [0-9]+)\b/).map { String($0.1) }
    }
}
