import CMartletTLS

/// The certificates and keys of one side. A context is immutable: a reload creates a new context, and connections keep
/// theirs.
@safe
final class TLSContext: @unchecked Sendable {  // OpenSSL's contexts may be used by several threads.
    /// The maximum number of ticket keys in a file.
    static let maxTicketKeys = 16

    let pointer: OpaquePointer
    /// The application protocol that both sides have to name (RFC 7301).
    let applicationProtocol: String

    init(client options: TLSClientOptions) throws(TLSError) {
        var trustFile: String?
        var pins: [UInt8] = []
        switch options.trust {
        case .system: break
        case .file(let path): trustFile = path
        case .pins(let pin, let backup): pins = pin.bytes + backup.bytes
        }
        applicationProtocol = TransportSecurity.martletProtocol
        unsafe pointer = try TLSContext.make(
            options.identity, applicationProtocol, trustFile: trustFile, pins: pins)
    }

    /// - Parameter maxRecordCount: The maximum number of records that are sent with a key of TLS 1.3; 0 for the
    ///   default.
    init(
        server options: TLSServerOptions, applicationProtocol: String = TransportSecurity.martletProtocol,
        acceptsWeb: Bool = false, ticketKeys: [UInt8], maxRecordCount: UInt64 = 0
    ) throws(TLSError) {
        self.applicationProtocol = applicationProtocol
        var trustFile: String?
        var request = martlet_tls_peer_certificate_ignored
        switch options.clientCertificates {
        case .ignored: break
        case .optional(let path): (trustFile, request) = (path, martlet_tls_peer_certificate_optional)
        case .required(let path): (trustFile, request) = (path, martlet_tls_peer_certificate_required)
        }
        unsafe pointer = try TLSContext.make(
            options.identity, applicationProtocol, trustFile: trustFile, isServer: true, acceptsWeb: acceptsWeb,
            request: request, ticketKeys: ticketKeys, maxRecordCount: maxRecordCount)
    }

    deinit {
        unsafe martlet_tls_context_free(pointer)
    }

    /// The reason why the own certificate is not currently valid; nil if it is valid or absent.
    var certificateFault: TLSError? {
        var failure = martlet_tls_failure()
        return unsafe martlet_tls_context_check_validity(pointer, &failure) == 0 ? nil : TLSError(failure)
    }

    /// The end of the validity of the own certificate in seconds since 1970; nil without a certificate.
    var certificateExpiry: Int64? {
        let seconds = unsafe martlet_tls_context_expiry(pointer)
        return seconds < 0 ? nil : seconds
    }

    private static func make(
        _ identity: TLSIdentity?, _ applicationProtocol: String, trustFile: String?, isServer: Bool = false,
        acceptsWeb: Bool = false, pins: [UInt8] = [],
        request: martlet_tls_peer_certificate = martlet_tls_peer_certificate_ignored, ticketKeys: [UInt8] = [],
        maxRecordCount: UInt64 = 0
    ) throws(TLSError) -> OpaquePointer {
        var failure = martlet_tls_failure()
        let pointer = unsafe withTexts([
            applicationProtocol, identity?.certificateFile, identity?.keyFile, trustFile,
        ]) {
            (texts: [UnsafePointer<CChar>?]) -> OpaquePointer? in
            unsafe pins.withUnsafeBufferPointer { pins -> OpaquePointer? in
                unsafe ticketKeys.withUnsafeBufferPointer { ticketKeys -> OpaquePointer? in
                    guard let name = unsafe texts[0] else { return nil }
                    var options = unsafe martlet_tls_options(
                        is_server: isServer ? 1 : 0, protocol: name, accepts_web: acceptsWeb ? 1 : 0,
                        certificate_file: texts[1], key_file: texts[2], trust_file: texts[3], pins: pins.baseAddress,
                        pin_count: pins.count / TLSPin.byteCount,
                        ticket_keys: ticketKeys.baseAddress,
                        ticket_key_count: ticketKeys.count / Int(martlet_tls_ticket_key_byte_count),
                        peer_certificate: Int32(request.rawValue), max_record_count: maxRecordCount)
                    return unsafe martlet_tls_context_create(&options, &failure)
                }
            }
        }
        guard let pointer = unsafe pointer else { throw TLSError(failure) }
        return unsafe pointer
    }
}

/// Calls `body` with the terminated texts.
func withTexts<Result>(
    _ texts: [String?], _ pointers: [UnsafePointer<CChar>?] = unsafe [], _ body: ([UnsafePointer<CChar>?]) -> Result
) -> Result {
    guard let first = texts.first else { return unsafe body(pointers) }
    let rest = Array(texts.dropFirst())
    guard let first else { return unsafe withTexts(rest, pointers + [nil], body) }
    return unsafe first.withCString { unsafe withTexts(rest, pointers + [$0], body) }
}

/// Fills `bytes` with random bytes; false when the system has none.
func fillRandom(_ bytes: inout [UInt8]) -> Bool {
    let count = bytes.count
    return unsafe martlet_tls_random(&bytes, count) == 0
}
