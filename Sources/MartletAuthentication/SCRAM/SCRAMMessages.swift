/// The GS2 header and the `client-first-message-bare` (RFC 5802 §7).
struct ClientFirstMessage {
    /// The part of the header about channel bindings.
    enum Flag: Equatable {
        case none
        case unsupportedByServer
        case binding(name: String)
    }

    let flag: Flag
    let userName: SCRAMName
    let nonce: [UInt8]
    /// The message without its header.
    let bare: [UInt8]

    init(parsing bytes: [UInt8]) throws(SCRAMError) {
        guard bytes.count <= SCRAMLimits.maxMessageByteCount else { throw .oversizedMessage }
        let parts = bytes.split(separator: UInt8(ascii: ","), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .malformedHeader }
        flag = try Self.flag(parts[0])
        guard parts[1].isEmpty else {
            throw parts[1].starts(with: "a=".utf8) ? .authorizationIdentity : .malformedHeader
        }
        bare = Array(parts[2])
        var reader = try SCRAMAttributeReader(parts[2])
        userName = try SCRAMName(escaped: reader.take(.userName))
        nonce = try reader.takeNonce()
        try reader.finish()
    }

    private static func flag(_ bytes: ArraySlice<UInt8>) throws(SCRAMError) -> Flag {
        if bytes.elementsEqual("n".utf8) { return .none }
        if bytes.elementsEqual("y".utf8) { return .unsupportedByServer }
        let name = bytes.dropFirst(2)
        let isName = name.allSatisfy { byte in
            let character = Character(Unicode.Scalar(byte))
            return character.isASCII && (character.isLetter || character.isNumber || "-.".contains(character))
        }
        guard bytes.starts(with: "p=".utf8), !name.isEmpty, isName else { throw .malformedHeader }
        return .binding(name: String(decoding: name, as: UTF8.self))
    }

    static func bare(userName: SCRAMName, nonce: [UInt8]) -> [UInt8] {
        Array("n=".utf8) + userName.escaped + Array(",r=".utf8) + nonce
    }
}

/// The `server-first-message` (RFC 5802 §7).
struct ServerFirstMessage {
    let nonce: [UInt8]
    let salt: [UInt8]
    let iterations: Int

    init(nonce: [UInt8], salt: [UInt8], iterations: Int) {
        (self.nonce, self.salt, self.iterations) = (nonce, salt, iterations)
    }

    init(parsing bytes: [UInt8]) throws(SCRAMError) {
        var reader = try SCRAMAttributeReader(bytes[...])
        nonce = try reader.takeNonce()
        salt = try reader.takeBase64(.salt)
        iterations = try reader.takeIterationCount()
        try reader.finish()
    }

    var bytes: [UInt8] {
        Array("r=".utf8) + nonce + Array(",s=\(Base64.encode(salt, .standard)),i=\(iterations)".utf8)
    }
}

/// The `client-final-message` (RFC 5802 §7).
struct ClientFinalMessage {
    let channelBindingInput: [UInt8]
    let nonce: [UInt8]
    let proof: [UInt8]
    /// The `client-final-message-without-proof`.
    let withoutProof: [UInt8]

    init(parsing bytes: [UInt8]) throws(SCRAMError) {
        guard bytes.count <= SCRAMLimits.maxMessageByteCount else { throw .oversizedMessage }
        let comma = bytes.lastIndex(of: UInt8(ascii: ",")) ?? bytes.startIndex
        var end = try SCRAMAttributeReader(bytes[comma...].drop { $0 == UInt8(ascii: ",") })
        proof = try end.takeDigest(.proof)
        withoutProof = Array(bytes[..<comma])
        var reader = try SCRAMAttributeReader(withoutProof[...])
        channelBindingInput = try reader.takeBase64(.channelBinding)
        nonce = try reader.takeNonce()
        try reader.finish()
    }

    static func withoutProof(channelBindingInput: [UInt8], nonce: [UInt8]) -> [UInt8] {
        Array("c=\(Base64.encode(channelBindingInput, .standard)),r=".utf8) + nonce
    }

    static func bytes(withoutProof: [UInt8], proof: [UInt8]) -> [UInt8] {
        withoutProof + Array(",p=\(Base64.encode(proof, .standard))".utf8)
    }
}

/// The `server-final-message` (RFC 5802 §7).
enum ServerFinalMessage {
    case signature([UInt8])
    case error(String)

    init(parsing bytes: [UInt8]) throws(SCRAMError) {
        var reader = try SCRAMAttributeReader(bytes[...])
        if reader.isNext(.serverError) {
            let value = try reader.take(.serverError)
            guard value.allSatisfy(\.isVisibleASCII) else { throw .invalidAttribute(.serverError) }
            self = .error(String(decoding: value, as: UTF8.self))
        } else {
            self = .signature(try reader.takeDigest(.verifier))
        }
        try reader.finish()
    }

    static func bytes(signature: [UInt8]) -> [UInt8] {
        Array("v=\(Base64.encode(signature, .standard))".utf8)
    }
}
