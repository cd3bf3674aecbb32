import MartletToolTestSupport
import Testing

@testable import MartletTransport

/// Both ends of TLS in memory, as in simulations (C-65).
@Suite struct TLSStreamTests {
    private let endpoint: Endpoint
    private let client: TLSClient
    private let server: TLSServer

    init() throws {
        endpoint = try Endpoint(host: "localhost")
        let certificates = TestCertificates.shared
        client = try TLSClient(TLSClientOptions(trust: .file(certificates.authority.certificateFile)))
        server = try TLSServer(TLSServerOptions(identity: certificates.server))
    }

    /// The ends of a connection after its handshake.
    private func connected() throws -> (client: TLSStream, server: TLSStream) {
        let ends = (
            client: try TLSStream(client: client, to: endpoint), server: try #require(TLSStream(server: server))
        )
        exchange(ends)
        return ends
    }

    private func exchange(_ ends: (client: TLSStream, server: TLSStream)) {
        while true {
            let (up, down) = (ends.client.takePending(), ends.server.takePending())
            if up.isEmpty && down.isEmpty { return }
            #expect(ends.server.receive(up).isEmpty && ends.client.receive(down).isEmpty)
        }
    }

    @Test func `a handshake and 100,000 bytes -> open, the same bytes`() throws {
        let ends = try connected()
        #expect(ends.client.isOpen && ends.server.isOpen && !ends.client.isResumed)
        let data = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(ends.server.receive(ends.client.send(data)) == data)
        #expect(ends.client.receive(ends.server.send([1, 2])) == [1, 2])
        #expect(ends.client.send([]).isEmpty)
    }

    @Test func `a second connection of the client -> resumed; of another client -> not resumed`() throws {
        _ = try connected()
        #expect(try connected().client.isResumed)
        let other = try TLSStreamTests()
        #expect(try !other.connected().client.isResumed)
    }

    @Test func `close_notify -> the peer's end is closed; changed bytes -> an error`() throws {
        let ends = try connected()
        ends.client.close()
        exchange(ends)
        #expect(ends.server.isPeerClosed && ends.server.error == nil)
        let others = try connected()
        var records = others.client.send([1, 2, 3])
        records[records.count - 1] ^= 1
        #expect(others.server.receive(records).isEmpty)
        #expect(others.server.error != nil && !others.server.isOpen)
    }
}
