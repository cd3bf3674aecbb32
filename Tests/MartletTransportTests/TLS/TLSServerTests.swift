import Foundation
import MartletToolTestSupport
import Testing

@testable import MartletTransport

/// The ticket keys of a server without a file of keys.
@Suite struct TLSServerTests {
    private let client: TLSContext
    private let server: TLSServer

    init() throws {
        let certificates = TestCertificates.shared
        client = try TLSContext(client: TLSClientOptions(trust: .file(certificates.authority.certificateFile)))
        server = try TLSServer(TLSServerOptions(identity: certificates.server))
    }

    /// The client's side of a connection after its handshake, which the server accepts this much later.
    private func connected(
        to server: TLSServer? = nil, resuming session: TLSSession? = nil, after delay: UInt64 = 0
    ) throws -> TLSConnection {
        let server = server ?? self.server
        let connection = try TLSConnection(client: client, host: "localhost", resuming: session)
        let pair = TLSPair(
            client: connection, server: try #require(server.connection(clock: EventLoop.clock + delay)))
        pair.exchange()
        #expect(connection.state == .open)
        return connection
    }

    /// Sessions whose tickets have the current key. A client uses a ticket once (C-65).
    private func sessions(_ count: Int) throws -> [TLSSession] {
        var sessions: [TLSSession] = []
        for _ in 0..<count { sessions.append(try #require(try connected().takeSession())) }
        return sessions
    }

    @Test func `a ticket of before a reload -> resumed; of before two reloads -> a full handshake`() throws {
        let sessions = try sessions(2)
        try server.reload()
        #expect(try connected(resuming: sessions[0]).isResumed)
        try server.reload()
        #expect(try !connected(resuming: sessions[1]).isResumed)
    }

    // A key that remained in use could decrypt the tickets, and so the sessions, of the server's whole life.
    @Test func `a connection after more than 12 hours -> a new key, and the ticket keys before the last are discarded`()
        throws
    {
        let sessions = try sessions(4)
        let hour: UInt64 = 3_600_000_000_000
        for session in sessions[..<2] {
            #expect(try connected(resuming: session, after: TLSServer.maxTicketKeyAge - hour).isResumed)
        }
        #expect(try connected(resuming: sessions[2], after: TLSServer.maxTicketKeyAge + 1).isResumed)
        #expect(try !connected(resuming: sessions[3], after: TLSServer.maxTicketKeyAge + 1).isResumed)
    }

    @Test func `a key that cannot be read when the ticket keys are old -> one report a minute; then new ticket keys`()
        throws
    {
        try withTemporaryFolder { folder in
            let (file, backup) = ("\(folder)/server.key", "\(folder)/backup.key")
            let certificates = TestCertificates.shared
            try FileManager.default.copyItem(atPath: certificates.server.keyFile, toPath: file)
            let identity = TLSIdentity(certificateFile: certificates.server.certificateFile, keyFile: file)
            let failures = Guarded<[TLSError]>([])
            let server = try TLSServer(TLSServerOptions(identity: identity)) { error in
                failures.withLock { $0.append(error) }
            }
            try FileManager.default.moveItem(atPath: file, toPath: backup)
            let start = EventLoop.clock + TLSServer.maxTicketKeyAge + 1
            let retry = TLSServer.ticketKeyRetryInterval
            for time in [start, start, start + retry - 1] { #expect(server.connection(clock: time) != nil) }
            #expect(failures.withLock { $0.count } == 1)
            _ = server.connection(clock: start + retry)
            #expect(failures.withLock { $0.count } == 2)

            let session = try #require(try connected(to: server).takeSession())
            try FileManager.default.moveItem(atPath: backup, toPath: file)
            // The key of the session decrypts until the second replacement.
            for _ in 0..<2 { _ = server.connection(clock: start + 2 * retry) }
            #expect(failures.withLock { $0.count } == 2)
            #expect(try !connected(to: server, resuming: session).isResumed)
        }
    }
}
