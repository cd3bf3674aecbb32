import MartletWire

/// The rule of ``WireName`` that a text violates.
enum NameFault: Equatable {
    case empty
    case tooLong(byteCount: Int, limit: Int)
    case leadingSpace, trailingSpace, adjacentSpaces
    /// A character that names exclude (W-31).
    case excluded(Unicode.Scalar)

    /// The first rule that the text violates; nil if the text is a valid name of an account, a room and a method.
    /// Methods have the lowest limit.
    init?(_ text: String) {
        let scalars = text.unicodeScalars
        if scalars.isEmpty {
            self = .empty
        } else if let excluded = scalars.first(where: { $0 != " " && RoomName(String($0)) == nil }) {
            self = .excluded(excluded)
        } else if scalars.first == " " {
            self = .leadingSpace
        } else if scalars.last == " " {
            self = .trailingSpace
        } else if zip(scalars, scalars.dropFirst()).contains(where: { $0 == " " && $1 == " " }) {
            self = .adjacentSpaces
        } else if text.utf8.count > RoomName.maxByteCount {
            self = .tooLong(byteCount: text.utf8.count, limit: RoomName.maxByteCount)
        } else if text.utf8.count > MethodName.maxByteCount {
            self = .tooLong(byteCount: text.utf8.count, limit: MethodName.maxByteCount)
        } else {
            return nil
        }
    }
}

extension NameFault: CustomStringConvertible {
    /// A clause about the name, with the subject "it".
    var description: String {
        switch self {
        case .empty: "it is empty"
        case .tooLong(let byteCount, let limit): "it has \(byteCount) bytes; the limit is \(limit)"
        case .leadingSpace: "it begins with a space"
        case .trailingSpace: "it ends with a space"
        case .adjacentSpaces: "it contains two adjacent spaces"
        case .excluded(let scalar): "U+\(PrintableText.digits(of: scalar)) is not allowed"
        }
    }
}
