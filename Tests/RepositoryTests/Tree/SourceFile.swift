/// A text file of the package, with its path relative to the package's root.
struct SourceFile {
    var path: String
    var text: String
    /// The lines without their line ends; a file that ends with one has no empty last line.
    let lines: [Substring]
    /// The lines with code and comments told apart; none for what is not Swift.
    let scanned: [ScannedLine]

    init(_ path: String, _ text: String) {
        self.path = path
        self.text = text
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        self.lines = lines
        scanned = path.hasSuffix(".swift") ? SwiftScanner.scan(lines) : []
    }

    /// The folders that lead to the file, from the root, and then its name.
    var components: [Substring] {
        path.split(separator: "/")
    }

    var name: Substring {
        components.last ?? ""
    }

    /// The name up to its last dot.
    var stem: Substring {
        name.lastIndex(of: ".").map { name[..<$0] } ?? name
    }

    /// What follows the name's last dot, empty where there is none or where it is the first character.
    var pathExtension: Substring {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
        return name[name.index(after: dot)...]
    }

    var isSwift: Bool { pathExtension == "swift" }
    var isMarkdown: Bool { pathExtension == "md" }

    /// The folder below `parent` that the file lies in: the module's name for "Sources" and "Tests".
    func module(under parent: String) -> String? {
        guard components.count > 2, components[0] == parent else { return nil }
        return String(components[1])
    }

    /// Those of `words` that occur anywhere in the file: so few that the lines need not be asked about the others.
    func present(_ words: [String]) -> [String] {
        words.filter { text.contains($0) }
    }

    /// A finding for each line of code that `message` has something to say about.
    func findings(inCode message: (String) -> String?) -> [Finding] {
        scanned.enumerated().compactMap { index, line in
            message(line.code).map { Finding(path, line: index + 1, $0) }
        }
    }
}
