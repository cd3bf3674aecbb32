import MartletToolSupport
import MartletTransport

/// The TLS options of commands.
enum TLSArguments {
    private static let trust = Option.text(
        "trust", "FILE", help: "trust the certificates in FILE instead of the system's")
    private static let pin = Option.text(
        "pin", "HEX", help: "trust only a certificate with this key (SHA-256 of its SubjectPublicKeyInfo); given twice"
    ).repeating
    private static let certificate = Option.text("certificate", "FILE", help: "the certificate to present, in PEM form")
    private static let key = Option.text("key", "FILE", help: "the key of the certificate, in PEM form")
    private static let plaintext = Option.flag(
        "plaintext", help: "allow connections without TLS to and from other machines")
    private static let clientAuthority = Option.text(
        "client-ca", "FILE", help: "accept accounts with a client certificate issued by a certificate in FILE")
    private static let requireClient = Option.flag(
        "require-client-certificate", help: "refuse clients without a certificate in the TLS handshake")
    private static let ticketKeys = Option.text(
        "ticket-keys", "FILE", help: "share ticket keys with other relays: 80 random bytes for each key")

    /// The options of clients.
    static let clientSpecs = [trust.spec, pin.spec, certificate.spec, key.spec, plaintext.spec]
    /// The options of a relay.
    static let serverSpecs = [
        certificate.spec, key.spec, clientAuthority.spec, requireClient.spec, ticketKeys.spec, plaintext.spec,
    ]

    /// Whether a certificate of this peer is given.
    static func hasCertificate(_ arguments: ParsedArguments) -> Bool { arguments[certificate] != nil }

    /// Whether accounts with client certificates are accepted.
    static func acceptsClientCertificates(_ arguments: ParsedArguments) -> Bool { arguments[clientAuthority] != nil }

    /// Whether clients without a certificate are refused.
    static func requiresClientCertificates(_ arguments: ParsedArguments) -> Bool { arguments.has(requireClient) }

    /// Whether connections without TLS to other machines are allowed.
    static func allowsPlaintext(_ arguments: ParsedArguments) -> Bool { arguments.has(plaintext) }

    /// The TLS options of a client.
    static func client(_ arguments: ParsedArguments) throws(UsageError) -> TLSClientOptions {
        TLSClientOptions(trust: try trust(arguments), identity: try identity(arguments))
    }

    /// The TLS options of a relay; nil without a certificate.
    static func server(_ arguments: ParsedArguments) throws(UsageError) -> TLSServerOptions? {
        guard let identity = try identity(arguments) else {
            for option in [clientAuthority, ticketKeys] where arguments[option] != nil {
                throw UsageError(message: "'--\(option.spec.name)' requires '--certificate' and '--key'")
            }
            return nil
        }
        var options = TLSServerOptions(identity: identity)
        if let file = arguments[clientAuthority] {
            options.clientCertificates =
                requiresClientCertificates(arguments) ? .required(trustFile: file) : .optional(trustFile: file)
        }
        options.ticketKeyFile = arguments[ticketKeys]
        return options
    }

    private static func identity(_ arguments: ParsedArguments) throws(UsageError) -> TLSIdentity? {
        switch (arguments[certificate], arguments[key]) {
        case (let certificate?, let key?): return TLSIdentity(certificateFile: certificate, keyFile: key)
        case (nil, nil): return nil
        default: throw UsageError(message: "'--certificate' and '--key' are given together")
        }
    }

    private static func trust(_ arguments: ParsedArguments) throws(UsageError) -> TLSClientOptions.Trust {
        let texts = arguments.all(pin)
        guard !texts.isEmpty else { return arguments[trust].map { .file($0) } ?? .system }
        let pins = texts.compactMap { TLSPin(hexadecimal: $0) }
        guard arguments[trust] == nil, texts.count == 2, pins.count == 2 else {
            throw UsageError(message: "'--pin' is given twice, each with 64 hexadecimal digits, and without '--trust'")
        }
        return .pins(pins[0], backup: pins[1])
    }
}
