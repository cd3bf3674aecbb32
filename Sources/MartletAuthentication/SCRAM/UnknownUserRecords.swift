/// The records with which a server challenges unknown users, so that a challenge does not reveal which names exist.
///
/// A record is a function of the secret and the name. A name therefore receives the same salt each time, as a user
/// does.
public struct UnknownUserRecords: Sendable {
    private let secret: SCRAMSecret
    private let iterations: Int

    /// Creates the records of a server.
    ///
    /// - Parameters:
    ///   - secret: At least 32 random bytes. They should outlive restarts of the server: after a change, the salts of
    ///     unknown users differ from before, and those of users do not.
    ///   - iterations: The number that the records of the server's users have, 4096 to 1,000,000.
    /// - Throws: ``SCRAMError/invalidSecret``, ``SCRAMError/iterationCountOutOfBounds``.
    public init(secret: [UInt8], iterations: Int) throws(SCRAMError) {
        guard secret.count >= SCRAMLimits.minSecretByteCount else { throw .invalidSecret }
        guard SCRAMLimits.iterationCount.contains(iterations) else { throw .iterationCountOutOfBounds }
        self.secret = SCRAMSecret(secret)
        self.iterations = iterations
    }

    /// The verification of a user's proof with its record, or if that is nil, of an unknown user's. Both take the same
    /// time.
    func verification(of name: SCRAMName, with record: SCRAMRecord?) -> SCRAMVerification {
        let substitute = self.record(of: name)
        return SCRAMVerification(record: record ?? substitute, isKnownUser: record != nil)
    }

    /// The record of a name. Its keys belong to no password.
    func record(of name: SCRAMName) -> SCRAMRecord {
        SCRAMRecord(
            salt: Array(derive("salt", name).prefix(SCRAMLimits.recordSaltByteCount)), iterations: iterations,
            storedKey: SCRAMSecret(derive("stored key", name)), serverKey: SCRAMSecret(derive("server key", name)))
    }

    private func derive(_ purpose: String, _ name: SCRAMName) -> [UInt8] {
        SCRAMHash.code(key: secret.bytes, Array("\(purpose),\(name.text)".utf8))
    }
}
