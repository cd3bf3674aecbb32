import MartletDecode
import MartletToolSupport
import MartletWire

/// The counts of events, for the last line of the output and the exit code.
struct DecodeTally: Equatable, Sendable {
    /// The number of frames by type.
    var frameCounts: [FrameType: Int] = [:]
    /// The number of frames whose body was refused.
    var refusedCount = 0
    /// The number of malformed directions.
    var faultCount = 0

    var frameCount: Int { frameCounts.values.reduce(0, +) }

    /// Whether nothing was malformed.
    var isValid: Bool { refusedCount == 0 && faultCount == 0 }

    /// Counts an event.
    mutating func add(_ event: DecodeEvent) {
        switch event {
        case .frame(let frame):
            frameCounts[frame.header.type, default: 0] += 1
            if case .refused = frame.content { refusedCount += 1 }
        case .fault: faultCount += 1
        case .note: break
        }
    }

    /// Returns the counts as a line of text.
    func text(_ totals: CaptureDecoder.Totals?) -> String {
        var parts = ["\(Quantity.grouped(frameCount)) \(frameCount == 1 ? "frame" : "frames")"]
        if let totals {
            parts[0] += " in \(Quantity.grouped(totals.connectionCount)) connections"
            if totals.foreignCount > 0 { parts.append("\(Quantity.grouped(totals.foreignCount)) others") }
        }
        parts.append("\(Quantity.grouped(faultCount + refusedCount)) malformed")
        return parts.joined(separator: ", ")
    }

    /// Returns the counts as JSON.
    func json(_ totals: CaptureDecoder.Totals?) -> JSONLine {
        let types = frameCounts.sorted { $0.key.rawValue < $1.key.rawValue }
        return .object([
            .init("event", .string("end")), .init("frames", .count(frameCount)),
            .init("types", .object(types.map { .init($0.key.description, .count($0.value)) })),
            .init("faults", .count(faultCount)), .init("refused", .count(refusedCount)),
            .init("connections", totals.map { .count($0.connectionCount) } ?? .null),
            .init("foreign", totals.map { .count($0.foreignCount) } ?? .null),
            .init("packets", totals.map { .count($0.packetCount) } ?? .null),
        ])
    }
}
