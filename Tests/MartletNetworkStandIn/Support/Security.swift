// Apple's documentation describes these declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Dispatch
public import Foundation

// What the backend uses of the Security framework, with the names and signatures of Apple's documentation. The types of
// Core Foundation are the bridged types of Swift, so that casts between them have the same form.

public typealias OSStatus = Int32
public typealias CFString = String
public typealias CFData = Data
public typealias CFArray = [Any]
public typealias CFAllocator = Never

public let errSecSuccess: OSStatus = 0

public final class CFError {
    let text: String
    init(_ text: String) { self.text = text }
}

public func CFErrorCopyDescription(_ error: CFError) -> CFString { error.text }

// MARK: Certificates

public final class SecCertificate: Sendable {
    let data: Data
    init(_ data: Data) { self.data = data }
}

public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    data.isEmpty ? nil : SecCertificate(data)
}

public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { certificate.data }

public final class SecIdentity: Sendable {
    package init() {}
}

public final class SecPolicy: Sendable {
    let host: String?
    init(_ host: String?) { self.host = host }
}

public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { SecPolicy(hostname) }

/// A chain, and what an evaluation finds.
public final class SecTrust {
    package let chain: [SecCertificate]
    /// Returns the description of an error; nil for a trusted chain.
    private let evaluation: (SecTrust) -> String?
    package fileprivate(set) var anchors: [SecCertificate]?
    package fileprivate(set) var trustsAnchorsOnly = false
    package fileprivate(set) var host: String?

    package init(chain: [[UInt8]], evaluation: @escaping (SecTrust) -> String?) {
        self.chain = chain.map { SecCertificate(Data($0)) }
        self.evaluation = evaluation
    }

    fileprivate func evaluate() -> String? { evaluation(self) }

    /// The anchors in DER; nil for those of the system.
    package var anchorData: [[UInt8]]? { anchors?.map { [UInt8]($0.data) } }
}

@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    trust.anchors = anchorCertificates?.compactMap { $0 as? SecCertificate }
    return errSecSuccess
}

@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.trustsAnchorsOnly = anchorCertificatesOnly
    return errSecSuccess
}

@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: AnyObject) -> OSStatus {
    trust.host = (policies as? SecPolicy)?.host
    return errSecSuccess
}

public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { trust.chain }

public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    guard let text = trust.evaluate() else { return true }
    unsafe error?.pointee = CFError(text)
    return false
}

// MARK: Protocol objects

public final class sec_trust_t {
    let trust: SecTrust
    init(_ trust: SecTrust) { self.trust = trust }
}

public func sec_trust_copy_ref(_ trust: sec_trust_t) -> Unmanaged<SecTrust> { unsafe .passRetained(trust.trust) }

public final class sec_identity_t: Sendable {
    let identity: SecIdentity
    init(_ identity: SecIdentity) { self.identity = identity }
}

public func sec_identity_create(_ identity: SecIdentity) -> sec_identity_t? { sec_identity_t(identity) }

public enum tls_protocol_version_t: UInt16, Sendable {
    case TLSv10 = 0x0301
    case TLSv11 = 0x0302
    case TLSv12 = 0x0303
    case TLSv13 = 0x0304
}

public struct tls_ciphersuite_t: RawRepresentable, Equatable, Sendable {
    public let rawValue: UInt16
    public init?(rawValue: UInt16) { self.rawValue = rawValue }
}

public typealias sec_protocol_verify_complete_t = (Bool) -> Void
public typealias sec_protocol_verify_t =
    (sec_protocol_metadata_t, sec_trust_t, @escaping sec_protocol_verify_complete_t) -> Void

/// The options of TLS. The backend sets them before the connection is started.
public final class sec_protocol_options_t: @unchecked Sendable {
    package fileprivate(set) var minVersion: tls_protocol_version_t?
    package fileprivate(set) var cipherSuites: [UInt16] = []
    package fileprivate(set) var applicationProtocols: [String] = []
    package fileprivate(set) var serverName: String?
    package fileprivate(set) var allowsRenegotiation = true
    package fileprivate(set) var requiresPeerAuthentication = false
    package fileprivate(set) var localIdentity: SecIdentity?
    fileprivate var verify: (block: sec_protocol_verify_t, queue: DispatchQueue)?

    /// Calls the verify block on its queue, as a handshake does.
    package func isVerified(_ trust: SecTrust) -> Bool {
        guard let verify else { return false }
        var isVerified = false
        verify.queue.sync { verify.block(sec_protocol_metadata_t(), sec_trust_t(trust)) { isVerified = $0 } }
        return isVerified
    }
}

public func sec_protocol_options_set_min_tls_protocol_version(
    _ options: sec_protocol_options_t, _ version: tls_protocol_version_t
) { options.minVersion = version }

public func sec_protocol_options_append_tls_ciphersuite(
    _ options: sec_protocol_options_t, _ ciphersuite: tls_ciphersuite_t
) { options.cipherSuites.append(ciphersuite.rawValue) }

public func sec_protocol_options_add_tls_application_protocol(
    _ options: sec_protocol_options_t, _ application_protocol: UnsafePointer<CChar>
) { options.applicationProtocols.append(unsafe String(cString: application_protocol)) }

public func sec_protocol_options_set_tls_server_name(
    _ options: sec_protocol_options_t, _ server_name: UnsafePointer<CChar>
) { options.serverName = unsafe String(cString: server_name) }

public func sec_protocol_options_set_tls_renegotiation_enabled(
    _ options: sec_protocol_options_t, _ renegotiation_enabled: Bool
) { options.allowsRenegotiation = renegotiation_enabled }

public func sec_protocol_options_set_peer_authentication_required(
    _ options: sec_protocol_options_t, _ peer_authentication_required: Bool
) { options.requiresPeerAuthentication = peer_authentication_required }

public func sec_protocol_options_set_local_identity(_ options: sec_protocol_options_t, _ identity: sec_identity_t) {
    options.localIdentity = identity.identity
}

public func sec_protocol_options_set_verify_block(
    _ options: sec_protocol_options_t, _ verify_block: @escaping sec_protocol_verify_t,
    _ verify_block_queue: DispatchQueue
) { options.verify = (verify_block, verify_block_queue) }

/// The result of a handshake. A test sets it before the state `ready`.
@safe
public final class sec_protocol_metadata_t: @unchecked Sendable {
    package var version = tls_protocol_version_t.TLSv13
    package var cipherSuite: UInt16 = 0x1302
    package var secret: [UInt8]?
    /// The label and the context of the last export.
    package fileprivate(set) var exported: (label: String, context: [UInt8])?
    /// A copy in terminated form; nil without a protocol.
    fileprivate var applicationProtocol: UnsafeMutablePointer<CChar>?

    package init() {}

    deinit {
        unsafe free(applicationProtocol)
    }

    /// Sets the name, at most once.
    package func setApplicationProtocol(_ name: String?) {
        unsafe applicationProtocol = name.map { unsafe strdup($0) }
    }
}

public func sec_protocol_metadata_get_negotiated_tls_protocol_version(
    _ metadata: sec_protocol_metadata_t
) -> tls_protocol_version_t { metadata.version }

public func sec_protocol_metadata_get_negotiated_tls_ciphersuite(
    _ metadata: sec_protocol_metadata_t
) -> tls_ciphersuite_t { tls_ciphersuite_t(rawValue: metadata.cipherSuite)! }

public func sec_protocol_metadata_get_negotiated_protocol(
    _ metadata: sec_protocol_metadata_t
) -> UnsafePointer<CChar>? { unsafe UnsafePointer(metadata.applicationProtocol) }

public func sec_protocol_metadata_create_secret_with_context(
    _ metadata: sec_protocol_metadata_t, _ label_len: Int, _ label: UnsafePointer<CChar>, _ context_len: Int,
    _ context: UnsafePointer<UInt8>, _ exporter_length: Int
) -> DispatchData? {
    let name = unsafe UnsafeRawBufferPointer(start: label, count: label_len)
    let bytes = unsafe UnsafeBufferPointer(start: context, count: context_len)
    metadata.exported = unsafe (String(decoding: name, as: UTF8.self), Array(bytes))
    guard let secret = metadata.secret?.prefix(exporter_length) else { return nil }
    return unsafe secret.withUnsafeBytes { unsafe DispatchData(bytes: $0) }
}
