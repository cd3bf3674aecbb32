import MartletRelay

/// The line protocol of InfluxDB: one line for each point.
///
/// | part | escaped with a backslash |
/// |---|---|
/// | measurement | comma, space |
/// | keys, values of tags | comma, equals sign, space |
/// | text of a field, in quotes | quote, backslash |
///
/// A backslash at the end of a tag's value would escape what follows, and has no representation. It is removed.
enum LineProtocol {
    private static let backslash = UInt8(ascii: "\\")
    private static let inMeasurement = Array(", ".utf8)
    private static let inKey = Array(",= ".utf8)
    private static let inText = Array("\"\\".utf8)

    /// Returns the line of a point, with its end.
    ///
    /// - Parameter added: Tags that replace those of the point with the same keys.
    static func line(of point: TelemetryPoint, adding added: [TelemetryPoint.Tag]) -> [UInt8] {
        let own = point.tags.filter { tag in !added.contains { $0.key.utf8.elementsEqual(tag.key.utf8) } }
        let tags = (own + added).sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        var line: [UInt8] = []
        append(point.measurement, escaping: inMeasurement, to: &line)
        for tag in tags {
            var value = Array(tag.value.utf8)[...]
            while value.last == backslash { value.removeLast() }
            guard !value.isEmpty else { continue }
            line.append(UInt8(ascii: ","))
            append(tag.key, escaping: inKey, to: &line)
            line.append(UInt8(ascii: "="))
            append(value, escaping: inKey, to: &line)
        }
        for (index, field) in point.fields.enumerated() {
            line.append(index == 0 ? UInt8(ascii: " ") : UInt8(ascii: ","))
            append(field.key, escaping: inKey, to: &line)
            line.append(UInt8(ascii: "="))
            append(field.value, to: &line)
        }
        line += Array(" \(point.time)\n".utf8)
        return line
    }

    private static func append(_ value: TelemetryValue, to line: inout [UInt8]) {
        switch value {
        case .bool(let value): line += Array((value ? "true" : "false").utf8)
        case .integer(let value): line += Array("\(value)i".utf8)
        case .double(let value): line += Array("\(value)".utf8)
        case .text(let text):
            line.append(UInt8(ascii: "\""))
            append(text, escaping: inText, to: &line)
            line.append(UInt8(ascii: "\""))
        }
    }

    private static func append(_ text: String, escaping special: [UInt8], to line: inout [UInt8]) {
        append(Array(text.utf8)[...], escaping: special, to: &line)
    }

    private static func append(_ text: ArraySlice<UInt8>, escaping special: [UInt8], to line: inout [UInt8]) {
        for byte in text {
            if special.contains(byte) { line.append(backslash) }
            line.append(byte)
        }
    }
}
