/// The measurements of an application at an instant, for a database of time series.
///
/// The measurement and the tags name the series of a point. A database keeps one point of a series at a time, so a
/// point that is sent again changes nothing (R-190).
public struct TelemetryPoint: Hashable, Sendable {
    /// A property that distinguishes series. Its values are of a small set, and never name a user.
    public struct Tag: Hashable, Sendable {
        /// The name.
        public var key: String
        /// The value.
        public var value: String

        /// Creates a tag.
        public init(_ key: String, _ value: String) {
            self.key = key
            self.value = value
        }
    }

    /// A measured value.
    public struct Field: Hashable, Sendable {
        /// The name.
        public var key: String
        /// The value.
        public var value: TelemetryValue

        /// Creates a field.
        public init(_ key: String, _ value: TelemetryValue) {
            self.key = key
            self.value = value
        }
    }

    /// The maximum number of bytes of a measurement and of the key of a tag or a field.
    public static let maxNameByteCount = 64
    /// The maximum number of bytes of the value of a tag.
    public static let maxTagByteCount = 128
    /// The maximum number of tags.
    public static let maxTagCount = 16
    /// The maximum number of fields. A point has at least one.
    public static let maxFieldCount = 32
    /// The maximum number of encoded bytes, so that a frame with a point fits into a packet.
    public static let maxByteCount = 1024

    /// The name of what is measured.
    public var measurement: String
    /// The tags, in the order of the bytes of their keys.
    public private(set) var tags: [Tag]
    /// The fields, in the order of the bytes of their keys.
    public private(set) var fields: [Field]
    /// The nanoseconds since 1970.
    public var time: Int64

    /// Creates a point. Tags and fields are sorted.
    public init(_ measurement: String, tags: [Tag] = [], fields: [Field], time: Int64) {
        self.measurement = measurement
        self.tags = tags.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        self.fields = fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        self.time = time
    }

    /// Whether names, values and their numbers are those of a point (R-191).
    public var isValid: Bool { validEncoding != nil }

    /// The encoded point; nil if it is not valid.
    package var validEncoding: [UInt8]? {
        guard Self.isName(measurement), tags.count <= Self.maxTagCount, (1...Self.maxFieldCount).contains(fields.count),
            tags.allSatisfy({ Self.isName($0.key) && Self.isTagValue($0.value) }),
            fields.allSatisfy({ Self.isName($0.key) && $0.value.isValid }), hasDistinctKeys
        else { return nil }
        let bytes = encoded
        return bytes.count <= Self.maxByteCount ? bytes : nil
    }

    private var hasDistinctKeys: Bool {
        zip(tags, tags.dropFirst()).allSatisfy { !$0.key.hasSameUTF8(as: $1.key) }
            && zip(fields, fields.dropFirst()).allSatisfy { !$0.key.hasSameUTF8(as: $1.key) }
    }

    /// Names that databases reserve, and those that their line protocol cannot represent, are not valid.
    private static func isName(_ text: String) -> Bool {
        guard (1...maxNameByteCount).contains(text.utf8.count), !hasControls(text), text != "time" else { return false }
        return !text.hasPrefix("_") && !text.hasPrefix("#") && !text.hasSuffix("\\")
    }

    private static func isTagValue(_ text: String) -> Bool {
        (1...maxTagByteCount).contains(text.utf8.count) && !hasControls(text)
    }

    private static func hasControls(_ text: String) -> Bool { text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }

    /// The bytes that name the series. No two series have the same.
    package var series: [UInt8] {
        var writer = TLVWriter()
        writer.append(.text, string: measurement)
        for tag in tags {
            writer.append(.key, string: tag.key)
            writer.append(.text, string: tag.value)
        }
        return writer.bytes
    }

    // MARK: Encoding

    /// The encoded point: an array of the measurement, the time, the tags and the fields (R-190).
    private var encoded: [UInt8] {
        var writer = TLVWriter()
        writer.container(.array) { writer in
            writer.append(.text, string: measurement)
            writer.append(.integer, uint64: UInt64(bitPattern: time))
            writer.container(.object) { writer in
                for tag in tags {
                    writer.append(.key, string: tag.key)
                    writer.append(.text, string: tag.value)
                }
            }
            writer.container(.object) { writer in
                for field in fields {
                    writer.append(.key, string: field.key)
                    field.value.append(to: &writer)
                }
            }
        }
        return writer.bytes
    }

    /// Creates a point from an element of a batch; nil if the element is not a valid point.
    fileprivate init?(_ value: ContentValue) {
        guard case .array(let parts) = value, parts.count == 4, case .text(let measurement) = parts[0],
            case .integer(let time) = parts[1], case .object(let tagMembers) = parts[2],
            case .object(let fieldMembers) = parts[3]
        else { return nil }
        var tags: [Tag] = []
        for member in tagMembers {
            guard case .text(let value) = member.value else { return nil }
            tags.append(Tag(member.key, value))
        }
        var fields: [Field] = []
        for member in fieldMembers {
            guard let value = TelemetryValue(member.value) else { return nil }
            fields.append(Field(member.key, value))
        }
        self.init(measurement, tags: tags, fields: fields, time: time)
        guard isValid else { return nil }
    }
}

/// The value of a field of a point. The fields of a series with one name have values of one type.
public enum TelemetryValue: Hashable, Sendable {
    /// A truth value.
    case bool(Bool)
    /// An integer.
    case integer(Int64)
    /// A finite number.
    case double(Double)
    /// A text of at most ``maxTextByteCount`` bytes.
    case text(String)

    /// The maximum number of bytes of a text.
    public static let maxTextByteCount = 512

    fileprivate var isValid: Bool {
        switch self {
        case .bool, .integer: true
        case .double(let number): number.isFinite
        case .text(let text): text.utf8.count <= Self.maxTextByteCount && !text.utf8.contains(0)
        }
    }

    fileprivate init?(_ value: ContentValue) {
        switch value {
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .integer(value)
        case .double(let value): self = .double(value)
        case .text(let value): self = .text(value)
        case .null, .unsigned, .data, .array, .object: return nil
        }
    }

    fileprivate func append(to writer: inout TLVWriter) {
        switch self {
        case .bool(let value): writer.append(.bool, uint8: value ? 1 : 0)
        case .integer(let value): writer.append(.integer, uint64: UInt64(bitPattern: value))
        case .double(let value): writer.append(.double, uint64: value.bitPattern)
        case .text(let value): writer.append(.text, string: value)
        }
    }
}

extension TelemetryValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral
{
    /// Creates a truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates a text.
    public init(stringLiteral value: String) { self = .text(value) }
}

/// The points of a request `telemetry.write` (R-190).
package struct TelemetryBatch: Equatable, Sendable {
    /// The method of the request.
    package static let method = MethodName("telemetry.write")!
    /// The maximum number of bytes of an agent. A longer one is truncated.
    package static let maxAgentByteCount = 128
    /// The maximum number of bytes of the points of a batch that a client sends: a frame with them and the agent fits
    /// into a packet (C-115).
    package static let maxPointByteCount = TelemetryPoint.maxByteCount

    /// The name of the application; nil if the client has none.
    package let agent: String?
    /// The valid points.
    package let points: [TelemetryPoint]
    /// The number of elements that are not valid points.
    package let invalidCount: Int

    /// Creates a batch from the content of a request.
    ///
    /// - Throws: The errors of `ContentValue.init(content:)`; `invalidValue` unless it is an array that begins with an
    ///   agent.
    package init(parsing content: [UInt8]?) throws(WireError) {
        let content = content ?? []
        guard case .array(let elements) = try ContentValue(content: content.rawBytes), let first = elements.first else {
            throw .invalidValue(.array)
        }
        switch first {
        case .null: agent = nil
        case .text(let text) where text.utf8.count <= Self.maxAgentByteCount: agent = text
        default: throw .invalidValue(.agent)
        }
        points = elements.dropFirst().compactMap { TelemetryPoint($0) }
        invalidCount = elements.count - 1 - points.count
    }

    /// Returns the content of a request with encoded points.
    package static func encode(_ points: [[UInt8]], of agent: String?) -> [UInt8] {
        var writer = TLVWriter()
        writer.container(.array) { writer in
            if let agent {
                writer.append(.text, string: agent.clipped(toByteCount: maxAgentByteCount))
            } else {
                writer.append(.null, bytes: [])
            }
            for point in points { writer.append(encoded: point.rawBytes) }
        }
        return writer.bytes
    }
}
