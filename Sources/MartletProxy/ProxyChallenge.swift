import CMartletCrypto
import MartletAuthentication
import MartletHTTP
import MartletTransport
import MartletWire

/// A challenge in the field Proxy-Authenticate (RFC 9110 §11.3), and the answer to it.
struct ProxyChallenge: Equatable, Sendable {
    /// The scheme as the proxy writes it.
    let scheme: String
    /// The parameters, with names in lowercase.
    private var parameters: [HTTPField] = []

    /// The challenges of a field, with the values of repeated lines joined by commas. A part that is malformed ends the
    /// list.
    static func list(_ text: String) -> [ProxyChallenge] {
        var reader = Reader(rest: text.utf8[...])
        var challenges: [ProxyChallenge] = []
        while true {
            reader.skip(" \t,")
            let token = reader.token()
            guard !token.isEmpty else { return challenges }
            reader.skip(" \t")
            guard reader.take("=") else {
                challenges.append(ProxyChallenge(scheme: token))
                reader.skipToken68()
                continue
            }
            reader.skip(" \t")
            guard !challenges.isEmpty, let value = reader.value() else { return challenges }
            challenges[challenges.count - 1].parameters.append(HTTPField(token.lowercased(), value))
        }
    }

    /// The strength of a scheme that the client supports; nil for others. Digest with SHA-256 is preferred to Digest
    /// with MD5, and this to Basic.
    var strength: Int? {
        switch scheme.lowercased() {
        case "basic": return 0
        case "digest":
            guard parameters[joined: "realm"] != nil, parameters[joined: "nonce"] != nil,
                let qualities = parameters[joined: "qop"]?.lowercased().split(separator: ","),
                qualities.contains(where: { $0.trimmed == "auth" })
            else { return nil }
            switch algorithm {
            case "md5": return 1
            case "sha-256": return 2
            default: return nil
            }
        default: return nil
        }
    }

    /// Whether the proxy refuses only the age of the nonce.
    var isStale: Bool { isDigest && parameters[joined: "stale"]?.lowercased() == "true" }

    private var isDigest: Bool { scheme.lowercased() == "digest" }

    private var algorithm: String { parameters[joined: "algorithm"]?.lowercased() ?? "md5" }

    /// Returns the value of Proxy-Authorization for CONNECT to a target (RFC 7617 §2, RFC 7616 §3.4); nil if the
    /// library does not permit MD5.
    func answer(_ credentials: ProxyCredentials, target: String, nonce: [UInt8]) -> [UInt8]? {
        let colon = UInt8(ascii: ":")
        guard isDigest else {
            let pair = credentials.user + [colon] + credentials.password
            return Array("Basic \(Base64.encode(pair, .standard))".utf8)
        }
        let (realm, serverNonce) = (parameters[joined: "realm"] ?? "", parameters[joined: "nonce"] ?? "")
        let clientNonce = Self.hexadecimal(nonce)
        let secret = credentials.user + [colon] + realm.utf8 + [colon] + credentials.password
        guard let first = digest(secret), let second = digest(Array("CONNECT:\(target)".utf8)),
            let response = digest(Array("\(first):\(serverNonce):00000001:\(clientNonce):auth:\(second)".utf8))
        else { return nil }
        var answer = Array("Digest username=\"".utf8) + Self.escaped(credentials.user)
        answer += "\", realm=\"".utf8
        answer += Self.escaped(Array(realm.utf8))
        answer += "\", nonce=\"".utf8
        answer += Self.escaped(Array(serverNonce.utf8))
        answer += "\", uri=\"\(target)\", response=\"\(response)\", qop=auth, nc=00000001".utf8
        answer += ", cnonce=\"\(clientNonce)\", algorithm=\(algorithm == "md5" ? "MD5" : "SHA-256")".utf8
        if let opaque = parameters[joined: "opaque"] {
            answer += ", opaque=\"".utf8
            answer += Self.escaped(Array(opaque.utf8))
            answer.append(UInt8(ascii: "\""))
        }
        return answer
    }

    private func digest(_ bytes: [UInt8]) -> String? {
        if algorithm == "md5" {
            var digest = [UInt8](repeating: 0, count: Int(martlet_md5_byte_count))
            return unsafe martlet_md5(bytes, bytes.count, &digest) == 1 ? Self.hexadecimal(digest) : nil
        }
        var digest = [UInt8](repeating: 0, count: Int(martlet_sha256_byte_count))
        unsafe martlet_sha256(bytes, bytes.count, &digest)
        return Self.hexadecimal(digest)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The content of a quoted string.
    private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    /// Reads tokens and quoted strings (RFC 9110 §5.6).
    private struct Reader {
        var rest: String.UTF8View.SubSequence

        mutating func skip(_ characters: StaticString) {
            while let byte = rest.first, "\(characters)".utf8.contains(byte) { rest.removeFirst() }
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func token() -> String {
            let end = rest.firstIndex { $0 <= 0x20 || $0 >= 0x7F || "\",=".utf8.contains($0) } ?? rest.endIndex
            defer { rest = rest[end...] }
            return String(decoding: rest[..<end], as: UTF8.self)
        }

        /// Skips a value without a name, which some schemes have in place of parameters, for example `Negotiate YII=`.
        mutating func skipToken68() {
            var ahead = self
            _ = ahead.token()
            while ahead.take("=") {}
            ahead.skip(" \t")
            if ahead.rest.isEmpty || ahead.rest.first == UInt8(ascii: ",") { self = ahead }
        }

        /// A token or a quoted string; nil for a string without an end, and for no value.
        mutating func value() -> String? {
            guard take("\"") else {
                let token = token()
                return token.isEmpty ? nil : token
            }
            var bytes: [UInt8] = []
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
                guard byte == UInt8(ascii: "\\") else {
                    bytes.append(byte)
                    continue
                }
                guard let escaped = rest.popFirst() else { return nil }
                bytes.append(escaped)
            }
            return nil
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring { drop { $0 == " " }.prefix { $0 != " " } }
}
