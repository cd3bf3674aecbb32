/// The record that a server stores of a user instead of the password (RFC 5802 §3, RFC 5803).
///
/// The record does not suffice to log in, but permits to test guesses of the password, and to impersonate the server.
/// Descriptions and dumps do not contain the keys.
public struct SCRAMRecord: Equatable, Sendable {
    /// The salt, 16 bytes.
    public let salt: [UInt8]
    /// The number of iterations of PBKDF2, 4096 to 1,000,000.
    public let iterations: Int
    let storedKey: SCRAMSecret
    let serverKey: SCRAMSecret

    /// The beginning of ``text``.
    private static let scheme = "SCRAM-SHA-256"

    /// Computes the record of a password. The time is proportional to `iterations`; a million take about a second.
    ///
    /// - Parameters:
    ///   - password: 1 to 1024 bytes of UTF-8 without control characters. ASCII is prepared with SASLprep (RFC 4013).
    ///     Other characters are taken as they are, without normalization; a user must enter them in the same form.
    ///   - salt: 16 random bytes that no other record has.
    ///   - iterations: 4096 to 1,000,000. All records of a server should have the same number, which
    ///     ``UnknownUserRecords`` has too.
    /// - Throws: ``SCRAMError/invalidPassword``, ``SCRAMError/invalidSalt``, ``SCRAMError/iterationCountOutOfBounds``.
    public init(password: String, salt: [UInt8], iterations: Int) throws(SCRAMError) {
        let password = try SCRAMPassword(password)
        guard salt.count == SCRAMLimits.recordSaltByteCount else { throw .invalidSalt }
        guard SCRAMLimits.iterationCount.contains(iterations) else { throw .iterationCountOutOfBounds }
        let salted = password.salted(salt, iterations: iterations)
        self.init(salt: salt, iterations: iterations, storedKey: salted.storedKey, serverKey: salted.serverKey)
    }

    init(salt: [UInt8], iterations: Int, storedKey: SCRAMSecret, serverKey: SCRAMSecret) {
        (self.salt, self.iterations, self.storedKey, self.serverKey) = (salt, iterations, storedKey, serverKey)
    }

    /// Reads the form `SCRAM-SHA-256$iterations:salt$storedKey:serverKey`, in which salt and keys are base64. This is
    /// the form of PostgreSQL. Returns nil if a part is missing, has an invalid form or is out of bounds.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual(Self.scheme.utf8) else { return nil }
        let parameters = parts[1].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let keys = parts[2].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parameters.count == 2, keys.count == 2, let iterations = Int(String(parameters[0]) ?? ""),
            parameters[0].elementsEqual(String(iterations).utf8), SCRAMLimits.iterationCount.contains(iterations),
            let salt = Base64.decode(parameters[1], .standard), salt.count == SCRAMLimits.recordSaltByteCount,
            let storedKey = Base64.decode(keys[0], .standard), storedKey.count == SCRAMHash.byteCount,
            let serverKey = Base64.decode(keys[1], .standard), serverKey.count == SCRAMHash.byteCount
        else { return nil }
        self.init(
            salt: salt, iterations: iterations, storedKey: SCRAMSecret(storedKey), serverKey: SCRAMSecret(serverKey))
    }

    /// The form that ``init(_:)`` reads. It contains the keys.
    public var text: String {
        let keys = [storedKey, serverKey].map { Base64.encode($0.bytes, .standard) }
        return "\(Self.scheme)$\(iterations):\(Base64.encode(salt, .standard))$\(keys[0]):\(keys[1])"
    }
}
