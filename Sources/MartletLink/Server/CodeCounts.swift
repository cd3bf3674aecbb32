package import MartletWire

/// Counts of events by their error code.
package struct CodeCounts: Equatable, Sendable {
    private var counts: [ErrorCode: UInt64] = [:]

    package init() {}

    /// Counts an event. All codes that version 1.0 does not name have one count.
    package mutating func count(_ code: ErrorCode) {
        counts[ErrorCode.registered.contains(code) ? code : .unregistered, default: 0] += 1
    }

    package var total: UInt64 { counts.values.reduce(0, +) }

    package subscript(code: ErrorCode) -> UInt64 { counts[code] ?? 0 }

    /// The counts by the name of their code, in the order of the codes.
    package var byName: [(name: String, count: UInt64)] {
        counts.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            ($0.key == .unregistered ? "other" : $0.key.name, $0.value)
        }
    }

    package static func += (sum: inout CodeCounts, other: CodeCounts) {
        for (code, count) in other.counts { sum.counts[code, default: 0] += count }
    }
}

extension ErrorCode {
    fileprivate static var unregistered: ErrorCode { ErrorCode(rawValue: .max) }
}
