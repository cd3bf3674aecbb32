import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTransport

/// The sessions that a client keeps for resumption (C-98).
@Suite struct TLSClientTests {
    private let endpoint: Endpoint
    private let client: TLSClient
    private let server: TLSServer

    init() throws {
        endpoint = try Endpoint(host: "localhost")
        let certificates = TestCertificates.shared
        let days = try certificates.make("days") { $0.validity = -3600..<(10 * 86_400) }
        client = try TLSClient(TLSClientOptions(trust: .file(certificates.authority.certificateFile)))
        server = try TLSServer(TLSServerOptions(identity: days))
    }

    /// A connection after its handshake, begun by the client this much later. Its session is kept.
    private func connected(after delay: UInt64 = 0, wallClockDelay: UInt64 = 0) throws -> (TLSConnection, TLSSession) {
        let connection = try client.connection(
            to: endpoint, clock: EventLoop.clock + delay, wallClock: EventLoop.wallClock + wallClockDelay)
        let pair = TLSPair(client: connection, server: try #require(server.connection()))
        pair.exchange()
        let session = try #require(connection.takeSession())
        client.keep(session, of: endpoint)
        return (connection, session)
    }

    // C-98
    @Test func `a session 24 hours after the verification of the certificate -> a full handshake`() throws {
        _ = try connected()
        #expect(try connected(after: TLSSession.maxAge - 3_600_000_000_000).0.isResumed)
        #expect(try !connected(after: TLSSession.maxAge + 1).0.isResumed)
    }

    // C-98
    @Test func `sessions of resumed connections -> the age of the first one, until a full handshake`() throws {
        let (_, first) = try connected()
        for _ in 0..<3 {
            let (connection, session) = try connected()
            #expect(connection.isResumed && session.verifiedAt == first.verifiedAt)
        }
        let (connection, session) = try connected(after: TLSSession.maxAge + 3_600_000_000_000)
        #expect(!connection.isResumed && session.verifiedAt > first.verifiedAt)
    }

    // C-98
    @Test func `a session whose certificate has expired since -> a full handshake`() throws {
        _ = try connected()
        #expect(try connected(wallClockDelay: 9 * 86_400_000).0.isResumed)
        #expect(try !connected(wallClockDelay: 11 * 86_400_000).0.isResumed)
    }

    // C-65
    @Test func `a host with a final dot → the certificate of the name without it`() throws {
        let pair = TLSPair(
            client: try client.connection(to: Endpoint(host: "localhost.")), server: try #require(server.connection()))
        pair.exchange()
        #expect(pair.client.state == .open)
    }

    @Test func `a session of another port of the host -> a full handshake`() throws {
        _ = try connected()
        let other = try client.connection(to: Endpoint(host: "localhost", port: 7228))
        let pair = TLSPair(client: other, server: try #require(server.connection()))
        pair.exchange()
        #expect(other.state == .open && !other.isResumed)
        #expect(try connected().0.isResumed)
    }

    @Test func `a session of the 65th server -> those of the 64 others are discarded`() throws {
        let (_, session) = try connected()
        for port in 1..<UInt16(TLSClient.maxSessions) {
            client.keep(session, of: try Endpoint(host: "localhost", port: port))
        }
        #expect(try connected().0.isResumed)
        client.keep(session, of: try Endpoint(host: "localhost", port: UInt16(TLSClient.maxSessions)))
        #expect(try !connected().0.isResumed)
    }
}
