import MartletAuthentication
import MartletLink
import MartletRelay
import MartletWire

/// The accounts of tests: "ada" with the password "open sesame".
enum TestPasswords {
    static func file(secret: UInt8? = 7, iterations: Int = 4096) throws -> PasswordFile {
        var file = PasswordFile()
        if let secret { try file.addUnknownUserSecret([UInt8](repeating: secret, count: 32)) }
        let salt = [UInt8](repeating: 3, count: 16)
        try file.add("ada", SCRAMRecord(password: "open sesame", salt: salt, iterations: iterations))
        return file
    }

    static func client(
        _ account: String = "ada", _ password: String = "open sesame", exporter: [UInt8]? = nil, nonce: UInt8 = 1
    ) throws -> SCRAMClient {
        try SCRAMClient(
            userName: account, password: password, nonce: [UInt8](repeating: nonce, count: 24),
            channelBinding: exporter.map { ChannelBinding.tlsExporter($0) } ?? ChannelBinding.none)
    }

    /// The request of a hello with a mechanism; with SCRAM-SHA-256-PLUS, and TLS by default, if there is an exporter.
    static func request(
        _ account: String = "ada", mechanism: String? = nil, hasTLS: Bool? = nil, exporter: [UInt8]? = nil
    ) -> AuthenticationRequest {
        let usual = exporter == nil ? "SCRAM-SHA-256" : "SCRAM-SHA-256-PLUS"
        return AuthenticationRequest(
            account: AccountName(account)!, device: DeviceID(rawValue: 1),
            mechanism: MechanismName(mechanism ?? usual), hasTLS: hasTLS ?? (exporter != nil),
            channelBinding: exporter)
    }
}

extension Peer {
    /// Sends a hello with the first message of an exchange and returns the relay's message.
    func beginExchange(
        _ message: [UInt8], as account: String = "ada", device: UInt64 = 1
    ) async throws -> [UInt8] {
        await send(
            Hello(
                device: DeviceID(rawValue: device), account: AccountName(account)!,
                mechanism: MechanismName("SCRAM-SHA-256"),
                credential: Credential(message)))
        return try await expect(Auth.self).credential?.bytes ?? []
    }
}
