/// A user name of 1 to 128 bytes of UTF-8 without control characters.
///
/// Of SASLprep (RFC 4013) only the part for ASCII is implemented, which prohibits control characters. Other characters
/// are taken as they are: names are equal if their bytes are equal.
struct SCRAMName: Equatable, Sendable {
    let text: String

    init(_ text: String) throws(SCRAMError) {
        guard SCRAMLimits.userNameByteCount.contains(text.utf8.count), !text.containsControlCharacters else {
            throw .invalidUserName
        }
        self.text = text
    }

    /// Reads a `saslname` (RFC 5802 §7), in which `=2C` is a comma and `=3D` an equals sign.
    init(escaped bytes: ArraySlice<UInt8>) throws(SCRAMError) {
        var plain: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                plain.append(byte)
                continue
            }
            if rest.starts(with: "2C".utf8) {
                plain.append(UInt8(ascii: ","))
            } else if rest.starts(with: "3D".utf8) {
                plain.append(UInt8(ascii: "="))
            } else {
                throw .invalidAttribute(.userName)
            }
            rest.removeFirst(2)
        }
        guard let text = String(validating: plain, as: UTF8.self) else { throw .invalidAttribute(.userName) }
        try self.init(text)
    }

    /// The name as `saslname`.
    var escaped: [UInt8] {
        text.utf8.flatMap { byte in
            switch byte {
            case UInt8(ascii: ","): Array("=2C".utf8)
            case UInt8(ascii: "="): Array("=3D".utf8)
            default: [byte]
            }
        }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }
}

extension String {
    /// Whether the text contains a character of the general category Cc: U+0000 to 001F, U+007F to 009F.
    var containsControlCharacters: Bool {
        unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
