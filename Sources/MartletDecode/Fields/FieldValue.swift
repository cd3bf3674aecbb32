package import MartletWire

/// The value of a field in the form that the registry specifies for its tag. A value without that form is
/// ``bytes(_:)``.
public indirect enum FieldValue: Equatable, Sendable {
    /// A number in a record.
    public struct Member: Equatable, Sendable {
        /// The name in the specification.
        public var name: String
        /// The value.
        public var value: FieldValue
    }

    /// An unsigned integer.
    case number(UInt64)
    /// A random number that identifies a device, a link or a log.
    case identifier(UInt64)
    /// A text from a peer. It may contain control characters.
    case text(String)
    /// A name in the specification, such as that of an error code.
    case name(String)
    /// Bytes without a known form.
    case bytes([UInt8])
    /// The length of a secret whose bytes were not requested.
    case secret(Int)
    /// A list of values.
    case list([FieldValue])
    /// A record of numbers.
    case record([Member])
}

/// The form of the value of a tag (Specs/wire.md §13.2).
enum FieldShape: Sendable {
    case number, identifier, text, bytes, secret
    case version, code, features, contentKind, sessionKind, receiptKind, presence
    case position, echo, sessionAck, run, standing, chunk, reference

    /// The value in these bytes.
    func value(_ bytes: [UInt8], showingSecrets: Bool) -> FieldValue {
        if case .secret = self, !showingSecrets { return .secret(bytes.count) }
        return form(bytes) ?? .bytes(bytes)
    }

    private func form(_ bytes: [UInt8]) -> FieldValue? {
        let number = Self.number(bytes[...])
        switch self {
        case .bytes, .secret: return nil
        case .text: return String(validating: bytes, as: UTF8.self).map { .text($0) }
        case .number: return number.map { .number($0) }
        case .identifier: return number.map { .identifier($0) }
        case .version: return bytes.count == 2 ? .name("\(bytes[0]).\(bytes[1])") : nil
        case .code: return Self.name(number) { ErrorCode(rawValue: $0).name }
        case .contentKind: return Self.name(number) { ContentKind(rawValue: $0).name }
        case .features: return number.map { .list(Features(rawValue: $0).names.map { .name($0) }) }
        case .sessionKind: return Self.name(number) { UInt8(exactly: $0).flatMap(SessionKind.init).map { "\($0)" } }
        case .receiptKind: return Self.name(number) { [1: "delivered", 2: "read", 3: "refused"][$0] }
        case .presence:
            return Self.name(number) { UInt8(exactly: $0).flatMap(Transient.Presence.init).map { "\($0)" } }
        case .position: return Self.record(bytes, ["session": 2, "received": 8])
        case .echo: return Self.record(bytes, ["timestamp": 4, "microseconds": 4])
        case .run: return Self.record(bytes, ["counter": 8, "count": 4, "offset": 8])
        case .sessionAck: return Self.sessionAck(bytes)
        case .standing:
            return Self.record(bytes, ["role": 1, "banned": 1, "mutedUntil": 8], rest: "account") { name in
                String(validating: name, as: UTF8.self).map { .text($0) }
            }
        case .reference:
            return Self.record(bytes, ["device": 8, "counter": 8, "offset": 8], rest: "account") { name in
                String(validating: name, as: UTF8.self).map { .text($0) }
            }
        case .chunk: return Self.record(bytes, ["offset": 8, "total": 8], rest: "bytes") { .bytes(Array($0)) }
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64? {
        [1, 2, 4, 8].contains(bytes.count) ? bytes.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }

    private static func name(_ number: UInt64?, _ name: (UInt16) -> String?) -> FieldValue? {
        number.flatMap { UInt16(exactly: $0) }.flatMap(name).map { .name($0) }
    }

    /// Parses consecutive integers with the given names and sizes in bytes.
    private static func record(
        _ bytes: some Collection<UInt8>, _ layout: KeyValuePairs<String, Int>
    ) -> FieldValue? {
        var rest = ArraySlice(bytes)
        guard rest.count == layout.reduce(0, { $0 + $1.value }) else { return nil }
        return .record(
            layout.map { name, byteCount in
                defer { rest = rest.dropFirst(byteCount) }
                return FieldValue.Member(name: name, value: .number(number(rest.prefix(byteCount)) ?? 0))
            })
    }

    /// Parses consecutive integers, and a value of the bytes after them.
    private static func record(
        _ bytes: [UInt8], _ layout: KeyValuePairs<String, Int>, rest name: String,
        _ value: (ArraySlice<UInt8>) -> FieldValue?
    ) -> FieldValue? {
        let byteCount = layout.reduce(0) { $0 + $1.value }
        guard bytes.count >= byteCount, case .record(var members)? = record(bytes.prefix(byteCount), layout),
            let rest = value(bytes.dropFirst(byteCount))
        else { return nil }
        members.append(FieldValue.Member(name: name, value: rest))
        return .record(members)
    }

    private static func sessionAck(_ bytes: [UInt8]) -> FieldValue? {
        guard bytes.count >= 18, (bytes.count - 18).isMultiple(of: 16),
            case .record(var members)? = record(bytes.prefix(18), ["session": 2, "cumulative": 8, "credit": 8])
        else { return nil }
        let ranges = stride(from: 18, to: bytes.count, by: 16).compactMap { offset in
            record(bytes[offset..<offset + 16], ["first": 8, "last": 8])
        }
        members.append(FieldValue.Member(name: "ranges", value: .list(ranges)))
        return .record(members)
    }
}

extension Features {
    /// The names of the set bits, from the lowest. A bit without a name is shown by its number.
    package var names: [String] {
        let known = Self.registeredNames
        return (0..<64).filter { rawValue >> UInt64($0) & 1 == 1 }.map { $0 < known.count ? known[$0] : "bit \($0)" }
    }
}
