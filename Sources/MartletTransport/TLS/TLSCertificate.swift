import CMartletTLS

/// A request for a certificate, for development and tests.
package struct TLSCertificateRequest: Sendable {
    /// A use of a certificate.
    package enum Usage: String, Sendable {
        case server = "serverAuth"
        case client = "clientAuth"
    }

    /// The common name of the subject.
    package var commonName: String
    /// The host names of the certificate.
    package var hosts: [String] = []
    /// The numeric addresses of the certificate.
    package var addresses: [String] = []
    /// The e-mail addresses of the certificate.
    package var emailAddresses: [String] = []
    /// The URIs of the certificate.
    package var uris: [String] = []
    /// The use of the certificate; nil for any (RFC 5280 §4.2.1.12).
    package var usage: Usage?
    /// The issuer; nil for a self-signed certificate.
    package var issuer: TLSIdentity?
    /// Whether the certificate can issue others.
    package var isAuthority = false
    /// The size of an RSA key in bits; nil for a key on the curve P-256.
    package var rsaBitCount: Int?
    /// The bounds of validity in seconds from the current time.
    package var validity: Range<Int64> = -3600..<(398 * 86_400)

    package init(commonName: String) {
        self.commonName = commonName
    }

    /// Makes a key and a certificate, and writes them to the files of `identity`, which are replaced.
    ///
    /// Throws `TLSError.invalidFile`, `keyMismatch` if the issuer's key is not that of its certificate, `invalidHost`
    /// for a name with a character that separates names.
    package func make(_ identity: TLSIdentity) throws(TLSError) {
        let separators = Set(",\n\r".unicodeScalars)
        for name in hosts + addresses + emailAddresses + uris
        where name.unicodeScalars.contains(where: separators.contains) {
            throw .invalidHost(name)
        }
        let names =
            hosts.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" } + emailAddresses.map { "email:\($0)" }
            + uris.map { "URI:\($0)" }
        var failure = martlet_tls_failure()
        let texts: [String?] = [
            commonName, names.isEmpty ? nil : names.joined(separator: ","), issuer?.certificateFile, issuer?.keyFile,
            identity.certificateFile, identity.keyFile, usage?.rawValue,
        ]
        let result = unsafe withTexts(texts) { (texts: [UnsafePointer<CChar>?]) -> Int32 in
            guard let name = unsafe texts[0], let certificateFile = unsafe texts[4], let keyFile = unsafe texts[5]
            else { return -1 }
            var request = unsafe martlet_tls_certificate_request(
                common_name: name, alternative_names: texts[1], issuer_certificate_file: texts[2],
                issuer_key_file: texts[3], usage: texts[6], is_authority: isAuthority ? 1 : 0,
                rsa_bit_count: Int32(rsaBitCount ?? 0), not_before: validity.lowerBound, not_after: validity.upperBound)
            return unsafe martlet_tls_make_certificate(&request, certificateFile, keyFile, &failure)
        }
        guard result == 0 else { throw TLSError(failure) }
    }
}
