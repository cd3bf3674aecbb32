#if MARTLET_NETWORK_STAND_IN
    import Foundation
    import MartletTransport
    import MartletWire
    import MartletNetworkStandIn
#elseif canImport(Network)
    import Foundation
    import MartletWire
    import Network
    import Security
#endif

#if canImport(Network) || MARTLET_NETWORK_STAND_IN
    /// The TLS profile of a client for Network.framework, and the verification of the server's certificate (C-65).
    ///
    /// The framework calls the verification on its own queue, in each handshake that is not resumed.
    final class Verification: @unchecked Sendable {  // The certificates are immutable, and the lock guards the failure.
        /// The trusted certificates.
        private enum Trust {
            case system
            case certificates([SecCertificate])
            case pins([TLSPin])
        }

        /// The cipher suites of C-65: those of TLS 1.3, and ECDHE with authenticated encryption.
        private static let cipherSuites: [UInt16] = [
            0x1301, 0x1302, 0x1303, 0xC02B, 0xC02C, 0xC02F, 0xC030, 0xCCA8, 0xCCA9,
        ]

        private let host: String
        private let trust: Trust
        private let latestFailure = Guarded<TLSError?>(nil)

        init(_ options: TLSClientOptions, host: String) throws(TLSError) {
            self.host = host
            if let identity = options.identity {
                throw .invalidFile(
                    path: identity.certificateFile, reason: "Apple systems take identities from the keychain")
            }
            switch options.trust {
            case .system: trust = .system
            case .pins(let pin, let backup): trust = .pins([pin, backup])
            case .file(let path):
                let contents = FileManager.default.contents(atPath: path) ?? Data()
                let certificates = PEMFile.certificates(in: String(decoding: contents, as: UTF8.self))
                    .compactMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
                guard !certificates.isEmpty else { throw .invalidFile(path: path, reason: "no certificate") }
                trust = .certificates(certificates)
            }
        }

        /// The failure of the latest verification.
        var failure: TLSError? { latestFailure.withLock { $0 } }

        /// - Parameter offersWeb: Whether the client offers `http/1.1` in place of its protocol (C-118).
        func parameters(identity: SecIdentity?, offersWeb: Bool, queue: DispatchQueue) -> NWParameters {
            let tls = NWProtocolTLS.Options()
            let options = tls.securityProtocolOptions
            sec_protocol_options_set_min_tls_protocol_version(options, .TLSv12)
            for suite in Self.cipherSuites.compactMap({ tls_ciphersuite_t(rawValue: $0) }) {
                sec_protocol_options_append_tls_ciphersuite(options, suite)
            }
            unsafe sec_protocol_options_add_tls_application_protocol(
                options, offersWeb ? TransportSecurity.webProtocol : TransportSecurity.martletProtocol)
            unsafe sec_protocol_options_set_tls_server_name(options, host)
            sec_protocol_options_set_tls_renegotiation_enabled(options, false)
            sec_protocol_options_set_peer_authentication_required(options, true)
            if let identity = identity.flatMap({ sec_identity_create($0) }) {
                sec_protocol_options_set_local_identity(options, identity)
            }
            sec_protocol_options_set_verify_block(
                options,
                { _, trust, complete in
                    let failure = self.failure(of: unsafe sec_trust_copy_ref(trust).takeRetainedValue())
                    self.latestFailure.withLock { $0 = failure }
                    complete(failure == nil)
                }, queue)
            let tcp = NWProtocolTCP.Options()
            tcp.noDelay = true
            return NWParameters(tls: tls, tcp: tcp)
        }

        /// The failure of a certificate chain; nil if it is trusted for the host.
        private func failure(of trust: SecTrust) -> TLSError? {
            switch self.trust {
            case .system: break
            case .certificates(let certificates):
                guard Self.setAnchors(certificates, of: trust) else { return invalid("its authority is unknown") }
            case .pins(let pins):
                guard let own = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first,
                    let pin = CertificateKey.pin(of: [UInt8](SecCertificateCopyData(own) as Data)), pins.contains(pin)
                else { return .pinMismatch(subject: host) }
                // The certificate is its own anchor: its host and dates are verified, without an authority.
                guard Self.setAnchors([own], of: trust) else { return invalid("it cannot be an anchor") }
            }
            guard SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, host as CFString)) == errSecSuccess else {
                return invalid("its host cannot be verified")
            }
            var error: CFError?
            if unsafe SecTrustEvaluateWithError(trust, &error) { return nil }
            return invalid(error.map { CFErrorCopyDescription($0) as String } ?? "it is not trusted")
        }

        private func invalid(_ reason: String) -> TLSError { .invalidCertificate(subject: host, reason: reason) }

        private static func setAnchors(_ certificates: [SecCertificate], of trust: SecTrust) -> Bool {
            SecTrustSetAnchorCertificates(trust, certificates as CFArray) == errSecSuccess
                && SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
        }
    }
#endif
