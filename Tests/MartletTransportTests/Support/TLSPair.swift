import MartletWire

@testable import MartletTransport

/// Both sides of a TLS connection in memory. The test moves the records.
final class TLSPair {
    let client: TLSConnection
    let server: TLSConnection
    private let buffer = LoopBuffer(byteCount: EventLoop.readBufferByteCount + TLSConnection.maxRecordByteCount)
    private(set) var receivedByClient: [UInt8] = []
    private(set) var receivedByServer: [UInt8] = []

    init(
        client: TLSClientOptions, server: TLSServerOptions, host: String = "localhost", resuming: TLSSession? = nil,
        ticketKeys: [UInt8] = TLSPair.ticketKeys(1), maxRecordCount: UInt64 = 0
    ) throws {
        let serverContext = try TLSContext(server: server, ticketKeys: ticketKeys, maxRecordCount: maxRecordCount)
        self.client = try TLSConnection(client: TLSContext(client: client), host: host, resuming: resuming)
        self.server = TLSConnection(server: serverContext)!
        self.client.start(using: buffer)
    }

    /// Both sides of a handshake that has not begun.
    init(client: TLSConnection, server: TLSConnection) {
        (self.client, self.server) = (client, server)
        client.start(using: buffer)
    }

    /// A ticket key whose bytes all have the same value.
    static func ticketKeys(_ values: UInt8...) -> [UInt8] {
        values.flatMap { [UInt8](repeating: $0, count: 80) }
    }

    /// Returns and removes the pending records of a side.
    func take(from side: TLSConnection) -> [UInt8] {
        var records: [UInt8] = []
        while side.pendingByteCount > 0 {
            records += filledBytes(capacity: side.pendingByteCount) { side.takePending(into: &$0) }
        }
        return records
    }

    /// Passes bytes to a side.
    func give(_ bytes: [UInt8], to side: TLSConnection) {
        var received: [UInt8] = []
        side.receive(bytes.rawBytes, into: buffer) { received += copy($0) }
        if side === client { receivedByClient += received } else { receivedByServer += received }
    }

    /// Moves records, in pieces of `byteCount`, until neither side has any.
    func exchange(pieces byteCount: Int = .max) {
        while client.pendingByteCount + server.pendingByteCount > 0 {
            for (from, to) in [(client, server), (server, client)] {
                var records = take(from: from)[...]
                while !records.isEmpty {
                    give(Array(records.prefix(byteCount)), to: to)
                    records = records.dropFirst(byteCount)
                }
            }
        }
    }

    /// The records of application data.
    func records(of data: [UInt8], from side: TLSConnection, room: Int = 1 << 20) -> [UInt8] {
        send(data, from: side, room: room) + take(from: side)
    }

    /// Sends application data. Returns the records that have room. The other ones are pending.
    func send(_ data: [UInt8], from side: TLSConnection, room: Int) -> [UInt8] {
        let plain = LoopBuffer(byteCount: max(data.count, 1))
        _ = plain.fill(data.count) { output in
            for byte in data { output.append(byte) }
            return false
        }
        return filledBytes(capacity: room) { _ = side.send(data.count, of: plain, into: &$0) }
    }
}

/// The bytes that `body` appends to a buffer.
func filledBytes(capacity: Int, _ body: (inout OutputRawSpan) -> Void) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: capacity) { storage, count in
        let bytes = UnsafeMutableRawBufferPointer(storage)
        var output = unsafe OutputRawSpan(buffer: bytes, initializedCount: 0)
        body(&output)
        count = unsafe output.finalize(for: bytes)
    }
}

private func copy(_ bytes: RawSpan) -> [UInt8] {
    unsafe bytes.withUnsafeBytes { unsafe Array($0) }
}
