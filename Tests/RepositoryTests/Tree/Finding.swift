import Testing

/// One place where the tree breaks a rule.
struct Finding: Equatable, CustomStringConvertible {
    var path: String
    /// Counted from 1; nil when the whole file is meant.
    var line: Int?
    var message: String

    init(_ path: String, line: Int? = nil, _ message: String) {
        self.path = path
        self.line = line
        self.message = message
    }

    var description: String {
        line.map { "\(path):\($0): \(message)" } ?? "\(path): \(message)"
    }
}

/// Records one issue for each finding, so that one run shows all of them.
func expectNone(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
    for finding in findings {
        Issue.record("\(finding)", sourceLocation: sourceLocation)
    }
}
