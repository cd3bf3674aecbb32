/// A text file of the package, with its path relative to the package's root.
struct SourceFile {
    var path: String
    var text: String
    /// The lines without their line ends. A line end at the end of the file begins no line.
    let lines: [Substring]
    /// The lines with separated code and comments; empty if the file is not Swift.
    let scanned: [ScannedLine]

    init(_ path: String, _ text: String) {
        self.path = path
        self.text = text
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        self.lines = lines
        scanned = path.hasSuffix(".swift") ? SwiftScanner.scan(lines) : []
    }

    /// The folders from the root to the file, then its name.
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

    /// The text after the name's last dot; empty if there is none or if it is the first character.
    var pathExtension: Substring {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
        return name[name.index(after: dot)...]
    }

    var isSwift: Bool { pathExtension == "swift" }
    var isMarkdown: Bool { pathExtension == "md" }

    /// The components relative to the folder of the package: the package Dev has folders like those of the root.
    var componentsInPackage: ArraySlice<Substring> {
        components.first == "Dev" ? components.dropFirst() : components[...]
    }

    var isInSources: Bool { componentsInPackage.first == "Sources" }
    var isInTests: Bool { componentsInPackage.first == "Tests" }

    /// The folder below `parent` that contains the file: the module's name for "Sources" and "Tests".
    func module(under parent: String) -> String? {
        guard componentsInPackage.count > 2, componentsInPackage.first == parent[...] else { return nil }
        return componentsInPackage.dropFirst().first.map(String.init)
    }

    /// The elements of `words` that occur in the file. Its lines need not be searched for the others.
    func present(_ words: [String]) -> [String] {
        words.filter { text.contains($0) }
    }

    /// A finding for each line of code for which `message` returns a text.
    func findings(inCode message: (String) -> String?) -> [Finding] {
        scanned.enumerated().compactMap { index, line in
            message(line.code).map { Finding(path, line: index + 1, $0) }
        }
    }
}
