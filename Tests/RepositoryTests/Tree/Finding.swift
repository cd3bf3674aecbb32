import Testing

/// A violation of a rule.
struct Finding: Equatable, CustomStringConvertible {
    var path: String
    /// The line, counted from 1; nil for the whole file.
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

/// Records one issue for each finding.
func expectNone(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
    for finding in findings {
        Issue.record("\(finding)", sourceLocation: sourceLocation)
    }
}
