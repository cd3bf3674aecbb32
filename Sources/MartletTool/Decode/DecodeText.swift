import MartletDecode
import MartletToolSupport
import MartletWire

/// The format of events as lines of text.
struct DecodeText: Sendable {
    /// Whether each field has a line.
    var isVerbose = false
    var showsSecrets = false
    /// The time of the first event, to which other times are relative.
    private var begin: UInt64?

    init(isVerbose: Bool = false, showsSecrets: Bool = false) {
        self.isVerbose = isVerbose
        self.showsSecrets = showsSecrets
    }

    /// Returns the lines of an event.
    mutating func lines(_ event: DecodeEvent) -> [String] {
        switch event {
        case .frame(let frame):
            let line = head(frame.position, session: Self.session(frame), frame.header.type.description)
            let fields = isVerbose && frame.hasFields ? Self.fields(frame, showingSecrets: showsSecrets) : []
            return [Self.trimmed(line + Self.summary(frame))] + fields
        case .fault(let position, let fault):
            let line = head(position, session: "-", fault.header?.type.description ?? "-")
            return [
                line + "*** \(fault.code.name) (\(hex(fault.code.rawValue, digits: 4))) in the frame at byte "
                    + "\(position.offset): \(fault.text); the rest of this direction is not read"
            ]
        case .note(let position, let text):
            return [head(position, session: "-", "-") + "--- \(SafeText.line(text))"]
        }
    }

    /// Returns time or offset, connection and direction, session and sequence, and type.
    private mutating func head(_ position: StreamPosition, session: String, _ type: String) -> String {
        var first = "@\(position.offset)"
        if let time = position.time {
            begin = begin ?? time
            first = Self.seconds(from: begin ?? time, to: time)
        }
        let arrow = position.sender.map { $0 == .client ? ">" : "<" } ?? "?"
        return Self.padLeft(first, 11) + " " + Self.padLeft("\(position.connection)", 3) + " \(arrow) "
            + Self.padRight(session, 9) + Self.padRight(type, 10)
    }

    /// Returns a time in seconds with six decimal places; negative if packets are out of order.
    private static func seconds(from begin: UInt64, to time: UInt64) -> String {
        let microseconds = (time > begin ? time - begin : begin - time) / 1000
        let fraction = String(microseconds % 1_000_000)
        let zeros = String(repeating: "0", count: 6 - fraction.count)
        return "\(time < begin ? "-" : "")\(microseconds / 1_000_000).\(zeros)\(fraction)"
    }

    private static func session(_ frame: DecodedFrame) -> String {
        frame.sequence.map { "\(frame.header.session)/\($0)" } ?? "\(frame.header.session)"
    }

    private static func summary(_ frame: DecodedFrame) -> String {
        var parts: [String] = []
        switch frame.content {
        case .frame(let value): parts.append(value.summary)
        case .fragment(let number?): parts.append("fragment \(number), \(frame.body.count) bytes")
        case .fragment(nil): parts.append("fragment, \(frame.body.count) bytes")
        case .unknown: parts.append("unknown, \(frame.body.count) bytes, skipped")
        case .refused(let fault): parts.append("*** refused: \(fault.code.name), \(fault.text)")
        }
        if let room = frame.room, frame.header.type != .open { parts.append("(\(SafeText.line(room)))") }
        if frame.fragmentCount > 1 { parts.append("[joined from \(frame.fragmentCount) fragments]") }
        if frame.isRepeated { parts.append("[again]") }
        if frame.missingCount > 0 { parts.append("[\(frame.missingCount) sequences before it not seen]") }
        if frame.header.compression == .zlib { parts.append("[zlib]") }
        if frame.header.flags.contains(.ackNow) { parts.append("[ackNow]") }
        return parts.filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func fields(_ frame: DecodedFrame, showingSecrets: Bool) -> [String] {
        let header = frame.header
        let names = header.flags.names.joined(separator: " ")
        let first =
            "version \(header.version), \(names), priority \(header.flags.priority), timestamp \(header.timestamp), "
            + "body \(header.bodyByteCount), checksum \(hex(header.checksum, digits: 8))"
        let lines = [first] + frame.shownFields(showingSecrets: showingSecrets).lines
        return lines.map { String(repeating: " ", count: 28) + $0 }
    }

    private static func trimmed(_ line: String) -> String {
        String(line.reversed().drop { $0 == " " }.reversed())
    }

    private static func padLeft(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(width - text.count, 0)) + text
    }

    private static func padRight(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 1))
    }
}

extension FrameFlags {
    /// The names of the flags that are set.
    var names: [String] {
        let known: [(FrameFlags, String)] = [
            (.reliable, "reliable"), (.moreFragments, "moreFragments"), (.ackNow, "ackNow"),
            (.checksummed, "checksummed"),
        ]
        return known.compactMap { contains($0.0) ? $0.1 : nil }
    }
}
