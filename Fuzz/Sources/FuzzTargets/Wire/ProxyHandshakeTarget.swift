import MartletWire

@testable import MartletProxy
@testable import MartletTransport

/// The handshakes with a proxy: nothing traps, few requests are sent, and any split gives the same outcome, unless the
/// proxy sends bytes before they are due.
///
/// Input: a byte for the protocol, the credentials and the length of the pieces, and the bytes of the proxy.
enum ProxyHandshakeTarget {
    /// What the client has sent, and the end: a failure, or the offset at which the stream begins.
    private struct Outcome: Equatable {
        var sent: [[UInt8]] = []
        var error: ProxyError?
        var end: Int?

        var isEarly: Bool { error == .invalidResponse || error == .invalidSOCKS }
    }

    private static let proxies = [
        "http://p", "http://ann:secret@p", "socks5://p", "socks5://ann:secret@p",
    ].compactMap { try? ProxyAddress($0) }

    static func run(_ input: RawSpan) {
        guard input.byteCount > 1 else { return }
        let options = input.loadUInt8(at: 0)
        let bytes = [UInt8](copying: input.extracting(droppingFirst: 1))
        let proxy = proxies[Int(options & 3)]
        let single = outcome(bytes, proxy, pieces: 1)
        let pieces = outcome(bytes, proxy, pieces: Int(options >> 2) + 1)
        hold(pieces == single || pieces.isEarly, "a split answer gives another outcome")
        hold(single.sent.count <= 4, "many requests")
    }

    private static func outcome(_ bytes: [UInt8], _ proxy: ProxyAddress, pieces size: Int) -> Outcome {
        guard let endpoint = try? Endpoint(host: "chat.example") else { return Outcome() }
        var handshake = ProxyHandshake(through: proxy, to: endpoint, nonce: Array("the sample nonce".utf8))
        var outcome = Outcome(sent: [handshake.start()])
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            switch handshake.receive(piece.rawBytes) {
            case .incomplete: continue
            case .send(let bytes): outcome.sent.append(bytes)
            // The rest of the piece is lost with the connection.
            case .reconnect:
                outcome.error = .closed
                return outcome
            case .failed(let error):
                outcome.error = error
                return outcome
            case .connected(let byteCount):
                outcome.end = start + byteCount
                return outcome
            }
        }
        return outcome
    }
}
