import MartletRelay
import MartletWire

@testable import MartletTransport

/// The names of a client's certificate: nothing traps, no name is invented or lost, and the account is one of them.
///
/// Input: names as `martlet_tls_read_peer` writes them, each a byte for its kind, two for its length, and its bytes.
enum CertificateTarget {
    static func run(_ input: RawSpan) {
        let bytes = [UInt8](copying: input)
        var certificate = PeerCertificate(notAfter: 0)
        guard certificate.add(names: bytes[...]) else { return }
        let names = certificate.hostNames + certificate.emailAddresses + certificate.uris
        let all = names + [certificate.commonName].compactMap(\.self)
        hold(all.reduce(0) { $0 + 3 + $1.utf8.count } <= bytes.count, "the names are longer than the input")
        guard let account = CertificateAuthenticator.account(of: certificate) else { return }
        let first = certificate.emailAddresses.first ?? certificate.uris.first ?? certificate.commonName
        hold(first.map { Array($0.utf8) } == Array(account.description.utf8), "the account is not the first name")
    }
}
