/// A key of a set, and the identifier by which tokens select it (RFC 7517 §4).
struct JSONWebKey: Sendable {
    let keyID: String?
    let key: VerificationKey

    /// Parses the key at `index` of a set.
    ///
    /// - Returns: nil if this library has no use for the key: another key type or curve, another algorithm than the
    ///   four, or another use than signatures (RFC 7517 §5 asks to ignore such keys).
    static func parse(_ value: JSONValue, at index: Int) throws(JSONWebKeySetError) -> JSONWebKey? {
        guard let members = value.members else { throw .notAnObject(index: index) }
        return try Parser(members: members, index: index).parse()
    }

    private struct Parser {
        let members: [JSONMember]
        let index: Int

        func parse() throws(JSONWebKeySetError) -> JSONWebKey? {
            guard try isForVerification(), let material = try material() else { return nil }
            if let name = try string("alg") {
                guard let algorithm = SignatureAlgorithm(rawValue: name) else { return nil }
                guard algorithm == material.algorithm else { throw .algorithmMismatch(index: index) }
            }
            guard let key = VerificationKey(material) else { throw .invalidKey(index: index) }
            return JSONWebKey(keyID: try string("kid"), key: key)
        }

        /// RFC 7517 §4.2 and §4.3
        private func isForVerification() throws(JSONWebKeySetError) -> Bool {
            if let use = try string("use"), use != "sig" { return false }
            guard let value = members["key_ops"] else { return true }
            guard let operations = value.strings else { throw .invalidMember("key_ops", index: index) }
            return operations.contains("verify")
        }

        private func material() throws(JSONWebKeySetError) -> VerificationKey.Material? {
            switch try required("kty", string("kty")) {
            case "RSA": .rsa(modulus: try bytes("n"), exponent: try bytes("e"))  // RFC 7518 §6.3.1
            case "EC": try curve() == "P-256" ? .p256(x: try bytes("x"), y: try bytes("y")) : nil  // RFC 7518 §6.2.1
            case "OKP": try curve() == "Ed25519" ? .ed25519(try bytes("x")) : nil  // RFC 8037 §2
            case "oct": .secret(try bytes("k"))  // RFC 7518 §6.4.1
            default: nil
            }
        }

        private func curve() throws(JSONWebKeySetError) -> String {
            try required("crv", string("crv"))
        }

        private func bytes(_ name: String) throws(JSONWebKeySetError) -> [UInt8] {
            let text = try required(name, string(name))
            guard let bytes = Base64.decode(text.utf8, .url) else { throw .invalidMember(name, index: index) }
            return bytes
        }

        private func required<Value>(_ name: String, _ value: Value?) throws(JSONWebKeySetError) -> Value {
            guard let value else { throw .missingMember(name, index: index) }
            return value
        }

        /// The value of a string member; nil if the member is absent.
        private func string(_ name: String) throws(JSONWebKeySetError) -> String? {
            guard let value = members[name] else { return nil }
            guard let string = value.string else { throw .invalidMember(name, index: index) }
            return string
        }
    }
}
