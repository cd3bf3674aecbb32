/// A reader of the attributes of a message, in the order that RFC 5802 §7 requires.
struct SCRAMAttributeReader {
    private var fields: ArraySlice<(letter: Character, value: ArraySlice<UInt8>)>

    /// Divides a message into attributes. Throws ``SCRAMError/oversizedMessage``, ``SCRAMError/malformedMessage`` or
    /// ``SCRAMError/mandatoryExtension``.
    init(_ bytes: ArraySlice<UInt8>) throws(SCRAMError) {
        guard bytes.count <= SCRAMLimits.maxMessageByteCount else { throw .oversizedMessage }
        fields = []
        for field in bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard field.count >= 2, field.dropFirst().first == UInt8(ascii: "="), let first = field.first else {
                throw .malformedMessage
            }
            let letter = Character(Unicode.Scalar(first))
            guard letter.isASCII, letter.isLetter else { throw .malformedMessage }
            guard letter != SCRAMAttribute.mandatoryExtension.rawValue else { throw .mandatoryExtension }
            fields.append((letter, field.dropFirst(2)))
        }
    }

    /// Whether the next attribute is this one.
    func isNext(_ attribute: SCRAMAttribute) -> Bool {
        fields.first?.letter == attribute.rawValue
    }

    /// Takes the next attribute, which must be this one and not empty.
    mutating func take(_ attribute: SCRAMAttribute) throws(SCRAMError) -> ArraySlice<UInt8> {
        guard isNext(attribute), let field = fields.popFirst() else { throw .missingAttribute(attribute) }
        guard !field.value.isEmpty else { throw .invalidAttribute(attribute) }
        return field.value
    }

    /// Takes an attribute in base64 that is not empty.
    mutating func takeBase64(_ attribute: SCRAMAttribute) throws(SCRAMError) -> [UInt8] {
        guard let bytes = Base64.decode(try take(attribute), .standard) else { throw .invalidAttribute(attribute) }
        return bytes
    }

    /// Takes a digest or key in base64.
    mutating func takeDigest(_ attribute: SCRAMAttribute) throws(SCRAMError) -> [UInt8] {
        let bytes = try takeBase64(attribute)
        guard bytes.count == SCRAMHash.byteCount else { throw .invalidAttribute(attribute) }
        return bytes
    }

    /// Takes a nonce: visible ASCII characters without a comma.
    mutating func takeNonce() throws(SCRAMError) -> [UInt8] {
        let nonce = try take(.nonce)
        guard nonce.count <= SCRAMLimits.maxNonceTextByteCount, nonce.allSatisfy(\.isVisibleASCII) else {
            throw .invalidAttribute(.nonce)
        }
        return Array(nonce)
    }

    /// Takes an iteration count: a decimal number without a sign or leading zeros.
    mutating func takeIterationCount() throws(SCRAMError) -> Int {
        let digits = try take(.iterationCount)
        let zero = UInt8(ascii: "0")
        guard digits.first != zero, digits.allSatisfy({ (zero...UInt8(ascii: "9")).contains($0) }) else {
            throw .invalidAttribute(.iterationCount)
        }
        guard let count = Int(String(decoding: digits, as: UTF8.self)), SCRAMLimits.iterationCount.contains(count)
        else { throw .iterationCountOutOfBounds }
        return count
    }

    /// Ends the message. The remaining attributes are optional extensions, which are ignored (RFC 5802 §7).
    func finish() throws(SCRAMError) {
        for field in fields {
            guard SCRAMAttribute(rawValue: field.letter) == nil, !field.value.isEmpty, !field.value.contains(0) else {
                throw .malformedMessage
            }
        }
    }
}

extension UInt8 {
    /// Whether the byte is a character of ASCII other than controls and the blank.
    var isVisibleASCII: Bool { (0x21...0x7E).contains(self) }
}
