/// The committed inputs of the fuzz targets: a file for each target with one input on each line, bounded in number.
enum CorpusRule {
    static let folder = "Fuzz/Corpus/"
    /// The maximum number of inputs of all targets together.
    static let maxCount = 322

    static func findings(in tree: SourceTree) -> [Finding] {
        let paths = tree.paths.filter { $0.hasPrefix(folder) }.sorted()
        let others = paths.filter { !$0.hasSuffix(".hex") || $0.dropFirst(folder.count).contains("/") }
        let files = tree.files.filter { paths.contains($0.path) }
        let count = files.reduce(0) { $0 + $1.lines.count }
        return others.map { Finding($0, "not a file of inputs in hexadecimal") } + files.flatMap(malformedLines)
            + (count > maxCount ? [Finding(folder, "\(count) inputs, more than \(maxCount)")] : [])
    }

    private static func malformedLines(in file: SourceFile) -> [Finding] {
        file.lines.enumerated().compactMap { index, line in
            let isHex = !line.isEmpty && line.utf8.count.isMultiple(of: 2) && line.allSatisfy(\.isHexDigit)
            return isHex ? nil : Finding(file.path, line: index + 1, "not an input in hexadecimal")
        }
    }
}
