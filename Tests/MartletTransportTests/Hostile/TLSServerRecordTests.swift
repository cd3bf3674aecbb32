import MartletTLSForge
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTransport

/// Records of a client of TLS 1.3 at a server, which keeps only the keys of a connection (C-99).
@Suite struct TLSServerRecordTests {
    private static let data: UInt8 = 23
    private static let alert: UInt8 = 21
    private static let handshake: UInt8 = 22
    private static let keyUpdate: [UInt8] = [24, 0, 0, 1, 0]

    private let pair: TLSPair

    init() throws {
        pair = try Self.pair()
        pair.exchange()
    }

    private static func pair(maxRecordCount: UInt64 = 0) throws -> TLSPair {
        let certificates = TestCertificates.shared
        return try TLSPair(
            client: TLSClientOptions(trust: .file(certificates.authority.certificateFile)),
            server: TLSServerOptions(identity: certificates.server), maxRecordCount: maxRecordCount)
    }

    /// A record that the server accepts as authentic.
    private func record(
        _ type: UInt8, _ bytes: [UInt8], padding: Int = 0, ahead: UInt64 = 0
    ) throws -> [UInt8] {
        var record = [UInt8](repeating: 0, count: bytes.count + padding + 22)
        let count = unsafe martlet_tls_forge_record(
            pair.server.pointer, type, bytes, bytes.count, padding, ahead, &record)
        try #require(count == record.count)
        return record
    }

    /// The error of the server after a record, and of the client after the server's alert.
    private func errors(after record: [UInt8]) -> (server: TLSError?, client: TLSError?) {
        pair.give(record, to: pair.server)
        pair.exchange()
        return (
            pair.server.state == .failed ? pair.server.error : nil,
            pair.client.state == .failed ? pair.client.error : nil
        )
    }

    // C-99
    @Test func `padding, empty records, an alert user_canceled -> the data between them`() throws {
        for padding in [0, 1, 255, 16_384 - 3] {
            pair.give(try record(Self.data, [1, 2, 3], padding: padding), to: pair.server)
        }
        pair.give(try record(Self.data, []), to: pair.server)
        pair.give(try record(Self.alert, [1, 90]), to: pair.server)
        pair.give(try record(Self.data, [0, 0, 0]), to: pair.server)
        #expect(pair.server.state == .open && pair.receivedByServer.count == 15)
        #expect(pair.receivedByServer.suffix(4) == [3, 0, 0, 0])
    }

    // C-99
    @Test(arguments: [1, 4, 5, 6, 21, 22, 100, 16_405]) func `records in pieces of any size -> all data, in order`(
        byteCount: Int
    ) throws {
        var stream: [UInt8] = []
        for (number, length) in [16_384, 1, 0, 300, 16_384].enumerated() {
            let bytes = [UInt8](repeating: UInt8(number), count: length)
            stream += try record(Self.data, bytes, padding: number, ahead: UInt64(number))
        }
        var rest = stream[...]
        while !rest.isEmpty {
            pair.give(Array(rest.prefix(byteCount)), to: pair.server)
            rest = rest.dropFirst(byteCount)
        }
        let runs = [16_384, 1, 0, 300, 16_384].enumerated().flatMap { number, length in
            [UInt8](repeating: UInt8(number), count: length)
        }
        #expect(pair.receivedByServer == runs && pair.server.state == .open)
    }

    // C-99
    @Test func `33 records without content -> limitExceeded; with data between them -> accepted`() throws {
        for _ in 0..<32 { pair.give(try record(Self.data, [], padding: 9), to: pair.server) }
        pair.give(try record(Self.data, [1]), to: pair.server)
        for _ in 0..<32 { pair.give(try record(Self.alert, [1, 90]), to: pair.server) }
        #expect(pair.server.state == .open)
        let errors = errors(after: try record(Self.data, []))
        #expect(errors.server == .limitExceeded("too many empty records"))
        #expect(errors.client == .alert("unexpected_message"))
    }

    // C-65, C-99
    @Test func `33 key updates with records without content between them -> limitExceeded, an alert`() throws {
        for _ in 0..<16 {
            for _ in 0..<2 { pair.give(try record(Self.handshake, Self.keyUpdate), to: pair.server) }
            pair.give(try record(Self.data, []), to: pair.server)
        }
        #expect(pair.server.state == .open)
        let errors = errors(after: try record(Self.handshake, Self.keyUpdate))
        #expect(errors.server == .limitExceeded("too many key updates"))
        #expect(errors.client == .alert("unexpected_message"))
    }

    // C-99
    @Test func `content of 16,385 bytes -> protocolError, the alert record overflow`() throws {
        let errors = errors(after: try record(Self.data, [UInt8](repeating: 7, count: 16_385)))
        #expect(errors.server == .protocolError("data length too long") && errors.client == .alert("record overflow"))
        #expect(pair.receivedByServer.isEmpty)
    }

    // C-99
    @Test(
        arguments: [
            (0, []), (20, [1]), (24, [1, 2]), (99, [5]), (22, []), (22, [1, 0, 0, 0]), (22, [4, 0, 0, 0]),
            (22, [24, 0, 0, 1, 0, 24, 0, 0, 1, 0]),
        ] as [(UInt8, [UInt8])])
    func `a record of another type, or another handshake message -> protocolError, unexpected message`(
        type: UInt8, bytes: [UInt8]
    ) throws {
        let errors = errors(after: try record(type, bytes))
        guard case .protocolError = errors.server else {
            Issue.record("\(String(describing: errors.server))")
            return
        }
        #expect(errors.client == .alert("unexpected_message") && pair.receivedByServer.isEmpty)
    }

    // C-99
    @Test(
        arguments: [([24, 0, 0, 2, 0], "decode error"), ([24, 0, 0, 1, 2], "illegal parameter")] as [([UInt8], String)])
    func `an invalid key update -> protocolError`(message: [UInt8], alert: String) throws {
        let errors = errors(after: try record(Self.handshake, message))
        #expect(errors.server == .protocolError("invalid key update") && errors.client == .alert(alert))
    }

    // C-99
    @Test func `a key update in several records -> the next key; another record between them -> protocolError`() throws
    {
        for byte in Self.keyUpdate { pair.give(try record(Self.handshake, [byte]), to: pair.server) }
        pair.give(try record(Self.data, [8]), to: pair.server)
        #expect(pair.server.state == .open && pair.receivedByServer == [8])
        pair.give(try record(Self.handshake, [24, 0]), to: pair.server)
        #expect(errors(after: try record(Self.data, [9])).server == .protocolError("unexpected record"))
        #expect(pair.receivedByServer == [8])
    }

    // C-99
    @Test func `a key update that requests another -> data of the server with its next key`() throws {
        pair.give(try record(Self.handshake, [24, 0, 0, 1, 1]), to: pair.server)
        pair.give(pair.records(of: [1, 2], from: pair.server), to: pair.client)
        #expect(pair.receivedByClient == [1, 2] && pair.client.state == .open)
    }

    // C-99
    @Test func `a record with the key before an update -> protocolError`() throws {
        let old = try record(Self.data, [1])
        pair.give(try record(Self.handshake, Self.keyUpdate), to: pair.server)
        #expect(errors(after: old).client == .alert("bad record mac"))
        #expect(pair.receivedByServer.isEmpty)
    }

    // C-99
    @Test(
        arguments: [([2, 40], "handshake failure"), ([1, 80], "internal error"), ([0, 255], "unknown")]
            as [([UInt8], String)])
    func `an alert -> its name; of another length -> protocolError`(alert: [UInt8], name: String) throws {
        #expect(errors(after: try record(Self.alert, alert)).server == .alert(name))
        let other = try TLSServerRecordTests()
        let error = other.errors(after: try other.record(Self.alert, alert + [0])).server
        #expect(error == .protocolError("invalid alert"))
    }

    // C-99
    @Test func `data behind close_notify -> ignored`() throws {
        pair.give(try record(Self.alert, [1, 0]) + record(Self.data, [1], ahead: 1), to: pair.server)
        #expect(pair.server.state == .peerClosed && pair.receivedByServer.isEmpty)
        pair.give(pair.records(of: [3], from: pair.server), to: pair.client)
        #expect(pair.receivedByClient == [3])
    }

    // C-99
    @Test func `as many records as a key protects -> a key update, and the client receives all`() throws {
        let pair = try Self.pair(maxRecordCount: 4)
        pair.exchange()
        let data = (0..<20).map { UInt8($0) }
        let streams = data.map { pair.records(of: [$0], from: pair.server) }
        for stream in streams { pair.give(stream, to: pair.client) }
        #expect(pair.receivedByClient == data && pair.client.state == .open)
        // The ticket counts for the first key, and the key update for the key before it.
        #expect(streams.indices.filter { streams[$0].count == 23 + 27 } == [2, 5, 8, 11, 14, 17])
    }
}
