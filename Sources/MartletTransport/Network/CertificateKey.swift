#if MARTLET_NETWORK_STAND_IN
    import CMartletCrypto
    import Foundation
    import MartletTransport
#elseif canImport(Network)
    import CMartletCrypto
    import Foundation
#endif

#if canImport(Network) || MARTLET_NETWORK_STAND_IN
    /// The public key of a certificate in DER (RFC 5280 §4.1).
    enum CertificateKey {
        /// The pin of the certificate; nil if it is malformed.
        static func pin(of certificate: [UInt8]) -> TLSPin? {
            guard let key = subjectPublicKeyInfo(of: certificate) else { return nil }
            var digest = [UInt8](repeating: 0, count: TLSPin.byteCount)
            unsafe martlet_sha256(key, key.count, &digest)
            return TLSPin(bytes: digest)
        }

        /// The element after version, serial number, signature, issuer, validity and subject.
        private static func subjectPublicKeyInfo(of certificate: [UInt8]) -> [UInt8]? {
            var outer = certificate[...]
            guard var signed = element(0x30, in: &outer)?.content, var fields = element(0x30, in: &signed)?.content
            else { return nil }
            if fields.first == 0xA0 { guard element(0xA0, in: &fields) != nil else { return nil } }
            for tag: UInt8 in [0x02, 0x30, 0x30, 0x30, 0x30] {
                guard element(tag, in: &fields) != nil else { return nil }
            }
            return element(0x30, in: &fields).map { Array($0.whole) }
        }

        /// Removes the first element, which must have this tag.
        private static func element(
            _ tag: UInt8, in bytes: inout ArraySlice<UInt8>
        ) -> (whole: ArraySlice<UInt8>, content: ArraySlice<UInt8>)? {
            let all = bytes
            guard bytes.popFirst() == tag, let first = bytes.popFirst() else { return nil }
            var count = Int(first)
            if first >= 0x80 {
                let lengthCount = Int(first & 0x7F)
                guard (1...3).contains(lengthCount), bytes.count >= lengthCount else { return nil }
                count = bytes.prefix(lengthCount).reduce(0) { $0 << 8 | Int($1) }
                bytes = bytes.dropFirst(lengthCount)
            }
            guard count <= bytes.count else { return nil }
            let content = bytes.prefix(count)
            bytes = bytes.dropFirst(count)
            return (all.prefix(all.count - bytes.count), content)
        }
    }

    /// A text of certificates (RFC 7468).
    enum PEMFile {
        /// The certificates in DER. Blocks with invalid base64 are left out.
        static func certificates(in text: String) -> [[UInt8]] {
            let parts = text.split(separator: "-----BEGIN CERTIFICATE-----", omittingEmptySubsequences: false)
            return parts.dropFirst().compactMap { part in
                guard let end = part.firstRange(of: "-----END CERTIFICATE-----") else { return nil }
                return Data(base64Encoded: String(part[..<end.lowerBound].filter { !$0.isWhitespace })).map {
                    [UInt8]($0)
                }
            }
        }
    }
#endif
