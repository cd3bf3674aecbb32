import MartletWire

/// Which rule of ``WireName`` a text breaks.
enum NameFault: Equatable {
    case empty
    case tooLong(byteCount: Int)
    case blankAtBegin, blankAtEnd, blanksSideBySide
    /// It holds a character that no name may hold.
    case refused(Unicode.Scalar)

    /// The first rule that the text breaks; `nil` when it could be the name of a room.
    init?(_ text: String) {
        let scalars = text.unicodeScalars
        if scalars.isEmpty {
            self = .empty
        } else if let refused = scalars.first(where: { $0 != " " && RoomName(String($0)) == nil }) {
            self = .refused(refused)
        } else if scalars.first == " " {
            self = .blankAtBegin
        } else if scalars.last == " " {
            self = .blankAtEnd
        } else if zip(scalars, scalars.dropFirst()).contains(where: { $0 == " " && $1 == " " }) {
            self = .blanksSideBySide
        } else if text.utf8.count > RoomName.maxByteCount {
            self = .tooLong(byteCount: text.utf8.count)
        } else {
            return nil
        }
    }
}

extension NameFault: CustomStringConvertible {
    /// A clause whose subject is the name.
    var description: String {
        switch self {
        case .empty: "it is empty"
        case .tooLong(let byteCount): "it has \(byteCount) bytes, \(RoomName.maxByteCount) are allowed"
        case .blankAtBegin: "it begins with a blank"
        case .blankAtEnd: "it ends with a blank"
        case .blanksSideBySide: "it has two blanks side by side"
        case .refused(let scalar): "U+\(PrintableText.digits(of: scalar)) is not allowed"
        }
    }
}
