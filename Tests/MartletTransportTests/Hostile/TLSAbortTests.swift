import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTransport

/// TLS handshakes whose connection ends after any byte (C-65).
@Suite(.timeLimit(.minutes(10))) struct TLSAbortTests {
    private let certificates = TestCertificates.shared

    private func endpoints() throws -> (TLSClient, TLSServer) {
        var options = TLSServerOptions(identity: certificates.server)
        options.clientCertificates = .required(trustFile: certificates.authority.certificateFile)
        let client = TLSClientOptions(
            trust: .file(certificates.authority.certificateFile), identity: try certificates.make("ada"))
        return (try TLSClient(client), try TLSServer(options))
    }

    @Test(arguments: [0, 1])
    func `the end of the stream after any byte of a side -> truncatedHandshake, after the handshake reset`(
        side: Int
    ) async throws {
        try await expectOutcomes(.endOfStream, side: side, unconnected: .error(.tls(.truncatedHandshake)))
    }

    @Test(arguments: [0, 1])
    func `a reset after any byte of a side -> reset`(side: Int) async throws {
        try await expectOutcomes(.reset, side: side, unconnected: .reset)
    }

    @Test func `a whole handshake -> both sides connected`() async throws {
        let (client, server) = try endpoints()
        try await withLoop(.platformDefault) { loop in
            let events = await loop.run {
                MemoryHandshake.run(client, server, port: 1, on: loop)?.recorders.map(\.events)
            }
            #expect(events == Array(repeating: [.connected, .closed(.local)], count: 2))
        }
    }

    private func expectOutcomes(_ cut: MemoryHandshake.Cut, side: Int, unconnected: CloseReason) async throws {
        let (client, server) = try endpoints()
        try await withLoop(.platformDefault) { loop in
            let all = await loop.run { Self.outcomes(client, server, cut, side: side, on: loop) }
            // The last cuts can be behind the end of a handshake: the length of a signature varies by a few bytes,
            // and that of the server's ticket by a block of its cipher.
            let whole: [[Peer.Event]] = Array(repeating: [.connected, .closed(.local)], count: 2)
            #expect(all.dropLast(side == 0 ? 8 : 32).allSatisfy { $0 != whole })
            let outcomes = all.filter { $0 != whole }
            #expect(outcomes.count > 500)
            for events in outcomes.flatMap({ $0 }) where events != [.closed(unconnected)] {
                #expect(events == [.connected, .closed(.reset)])
            }
            if side == 0 {
                // The last byte of the client connects the server, and never arrives.
                #expect(outcomes.dropLast(8).allSatisfy { $0[1] == [.closed(unconnected)] })
            } else {
                // The client is connected before the ticket has arrived.
                let isConnected = outcomes.map { $0[0].count == 2 }
                #expect(isConnected.first == false && isConnected.last == true)
            }
        }
    }

    /// The events of both sides of a handshake with a cut after each of the bytes of one side. Runs on the loop.
    private static func outcomes(
        _ client: TLSClient, _ server: TLSServer, _ cut: MemoryHandshake.Cut, side: Int, on loop: EventLoop
    ) -> [[[Peer.Event]]] {
        guard let whole = MemoryHandshake.run(client, server, port: 1, on: loop) else { return [] }
        return (0..<whole.counts[side]).map { count in
            // A client keeps sessions for each port, so no handshake resumes another.
            let place = MemoryHandshake.Place(side: side, count: count, cut: cut)
            let handshake = MemoryHandshake.run(client, server, until: place, port: UInt16(2 + count), on: loop)
            return handshake?.recorders.map { $0.receivedByteCount == 0 ? $0.events : [] } ?? [[], []]
        }
    }
}
