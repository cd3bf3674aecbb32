/// The encodings base64 and base64url of RFC 4648.
package enum Base64 {
    /// The alphabet, and whether the last group is padded with `=`.
    package enum Variant {
        /// RFC 4648 §4, with padding, as SCRAM uses it.
        case standard
        /// RFC 4648 §5 without padding, as JOSE uses it (RFC 7515 §2).
        case url
    }

    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let padding = UInt8(ascii: "=")

    private static func alphabet(_ variant: Variant) -> [UInt8] {
        letters + (variant == .standard ? Array("+/".utf8) : Array("-_".utf8))
    }

    /// Returns the text of these bytes.
    package static func encode(_ bytes: [UInt8], _ variant: Variant) -> String {
        let alphabet = alphabet(variant)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let value = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for position in 0...group.count { text.append(alphabet[Int(value >> UInt32(18 - 6 * position)) & 63]) }
            if variant == .standard { text += Array(repeating: padding, count: 3 - group.count) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of a text.
    ///
    /// - Returns: nil if the text contains another character, lacks padding or has it where `variant` does not, or if
    ///   unused bits of its last character are set. Each sequence of bytes therefore has one text.
    package static func decode(_ text: some Collection<UInt8>, _ variant: Variant) -> [UInt8]? {
        var characters = Array(text)
        if variant == .standard {
            guard characters.count.isMultiple(of: 4) else { return nil }
            for _ in 0..<2 where characters.last == padding { characters.removeLast() }
        }
        let remainder = characters.count % 4
        guard remainder != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 4 * 3 + 2)
        var value: UInt32 = 0
        for (index, character) in characters.enumerated() {
            guard let digit = digit(of: character, variant) else { return nil }
            value = value << 6 | digit
            if index % 4 == 3 {
                // Three appends, since an array of three would be allocated for each group.
                bytes.append(UInt8(value >> 16))
                bytes.append(UInt8(value >> 8 & 255))
                bytes.append(UInt8(value & 255))
                value = 0
            }
        }
        if remainder == 2 {
            guard value & 15 == 0 else { return nil }
            bytes.append(UInt8(value >> 4))
        } else if remainder == 3 {
            guard value & 3 == 0 else { return nil }
            bytes += [UInt8(value >> 10), UInt8(value >> 2 & 255)]
        }
        return bytes
    }

    private static func digit(of character: UInt8, _ variant: Variant) -> UInt32? {
        switch (character, variant) {
        case (UInt8(ascii: "A")...UInt8(ascii: "Z"), _): UInt32(character - UInt8(ascii: "A"))
        case (UInt8(ascii: "a")...UInt8(ascii: "z"), _): UInt32(character - UInt8(ascii: "a")) + 26
        case (UInt8(ascii: "0")...UInt8(ascii: "9"), _): UInt32(character - UInt8(ascii: "0")) + 52
        case (UInt8(ascii: "+"), .standard), (UInt8(ascii: "-"), .url): 62
        case (UInt8(ascii: "/"), .standard), (UInt8(ascii: "_"), .url): 63
        default: nil
        }
    }
}
