import MartletDecode
import MartletToolSupport

extension FieldValue {
    /// The maximum number of bytes of a value that are shown.
    private static let maxShownByteCount = 32

    /// The value as one line of text.
    var text: String {
        switch self {
        case .number(let number): "\(number)"
        case .identifier(let number): hex(number, digits: 16)
        case .text(let text): "\"\(SafeText.line(text))\""
        case .name(let name): name
        case .bytes(let bytes):
            "\(bytes.count) bytes" + (bytes.isEmpty ? "" : " " + Self.digits(bytes.prefix(Self.maxShownByteCount)))
        case .secret(let byteCount): "\(byteCount) bytes, not shown"
        case .list(let values): values.map(\.text).joined(separator: ", ")
        case .record(let members):
            members.filter { $0.value != .list([]) }.map { "\($0.name) \($0.value.text)" }.joined(separator: ", ")
        }
    }

    /// The value as JSON.
    var json: JSONLine {
        switch self {
        case .number(let number): .count(number)
        case .identifier(let number): .string(hex(number, digits: 16))
        case .text(let text), .name(let text): .string(text)
        case .bytes(let bytes): .string(Self.digits(bytes))
        case .secret: .null
        case .list(let values): .array(values.map(\.json))
        case .record(let members): .object(members.map { JSONLine.Member($0.name, $0.value.json) })
        }
    }

    private static func digits(_ bytes: some Collection<UInt8>) -> String {
        var text = ""
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
        return text
    }
}
