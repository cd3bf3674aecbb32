public import MartletAuthentication

extension PasswordFile {
    /// Adds a user with a password at the end of the file. The salt is random, and the number of iterations is that of
    /// the other users. The file gets a secret for unknown users if it has none.
    ///
    /// The computation takes about 0.1 s.
    ///
    /// - Parameter password: 1 to 1024 bytes of UTF-8 without control characters.
    /// - Throws: `SCRAMError.invalidPassword`; `PasswordFileFault.invalidName`, `duplicateName` or `tooManyLines`.
    public mutating func add(_ name: String, password: String) throws {
        let record = try randomRecord(of: password)
        try addRandomSecret()
        try add(name, record)
    }

    /// Replaces the password of a user, as ``add(_:password:)`` adds one.
    ///
    /// - Throws: `SCRAMError.invalidPassword`; `PasswordFileFault.unknownName` or `tooManyLines`.
    public mutating func replace(_ name: String, password: String) throws {
        let record = try randomRecord(of: password)
        try addRandomSecret()
        try replace(name, record)
    }

    private func randomRecord(of password: String) throws(SCRAMError) -> SCRAMRecord {
        let salt = RandomBytes.make(byteCount: SCRAMLimits.recordSaltByteCount)
        return try SCRAMRecord(password: password, salt: salt, iterations: iterations)
    }

    private mutating func addRandomSecret() throws(PasswordFileFault) {
        try addUnknownUserSecret(RandomBytes.make(byteCount: SCRAMLimits.minSecretByteCount))
    }
}

/// Bytes of the system's random source.
enum RandomBytes {
    static func make(byteCount: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }
}
