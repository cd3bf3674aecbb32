import MartletAuthentication

/// A JSON value that is printed in one line. The members of an object keep their order.
package enum JSONLine: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    /// A number with three decimal places. Infinity is printed as `null`.
    case decimal(Double)
    case string(String)
    case array([JSONLine])
    case object([Member])

    /// A name and its value.
    package struct Member: Equatable, Sendable {
        package var name: String
        package var value: JSONLine

        package init(_ name: String, _ value: JSONLine) {
            self.name = name
            self.value = value
        }
    }

    /// Returns a duration in milliseconds; `null` for nil.
    package static func milliseconds(_ duration: Duration?) -> JSONLine {
        duration.map { .decimal(Quantity.seconds($0) * 1000) } ?? .null
    }

    /// Returns an integer.
    package static func count(_ number: some BinaryInteger) -> JSONLine {
        Int64(exactly: number).map { .integer($0) } ?? .unsigned(UInt64(clamping: number))
    }

    /// The value of an object's member; nil if there is none.
    package subscript(name: String) -> JSONLine? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The line, without a newline.
    package var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += "\(value)"
        case .unsigned(let value): text += "\(value)"
        case .decimal(let value): text += value.isFinite ? Quantity.fixed(value, digits: 3) : "null"
        case .string(let value): text += value.quotedAsJSON
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                text += member.name.quotedAsJSON
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }
}
