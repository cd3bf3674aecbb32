import MartletWire

/// One end of a TLS connection without a transport, for a network in memory. Ciphertext goes in and out as bytes.
package final class TLSStream {
    private let connection: TLSConnection
    private let onSession: ((TLSSession) -> Void)?

    /// The client's end of a connection to the endpoint. It resumes the latest session if the client has one. Throws
    /// `TLSError.invalidHost`.
    package init(client: TLSClient, to endpoint: Endpoint) throws(TLSError) {
        connection = try client.connection(to: endpoint)
        onSession = { client.keep($0, of: endpoint) }
        connection.start(using: LoopBuffer(byteCount: TLSConnection.maxRecordByteCount))
    }

    /// The server's end; nil without memory.
    package init?(server: TLSServer) {
        guard let connection = server.connection() else { return nil }
        self.connection = connection
        onSession = nil
    }

    /// Whether application data can be sent.
    package var isOpen: Bool { connection.state == .open || connection.state == .peerClosed }
    /// Whether the peer has sent close_notify.
    package var isPeerClosed: Bool { connection.state == .peerClosed }
    /// The failure that ended the connection; nil without one.
    package var error: TLSError? { connection.state == .failed ? connection.error : nil }
    /// Whether the handshake resumed a session.
    package var isResumed: Bool { connection.isResumed }

    /// Processes received bytes and returns the application data in them.
    package func receive(_ bytes: [UInt8]) -> [UInt8] {
        let buffer = LoopBuffer(byteCount: bytes.count + TLSConnection.maxRecordByteCount)
        var plain: [UInt8] = []
        connection.receive(bytes.rawBytes, into: buffer) { plain = [UInt8](copying: $0) }
        if let session = connection.takeSession() { onSession?(session) }
        return plain
    }

    /// Returns and removes the bytes of the handshake, of alerts and of close_notify that wait to be sent.
    package func takePending() -> [UInt8] {
        [UInt8](capacity: connection.pendingByteCount) { connection.takePending(into: &$0) }
    }

    /// Encrypts application data and returns its records; none after a failure.
    package func send(_ data: [UInt8]) -> [UInt8] {
        let plain = LoopBuffer(byteCount: max(data.count, 1))
        _ = plain.fill(data.count) {
            $0.append(bytes: data.rawBytes)
            return false
        }
        let overhead = 64 * (1 + data.count / TLSConnection.maxRecordByteCount)
        return [UInt8](capacity: data.count + overhead) { _ = connection.send(data.count, of: plain, into: &$0) }
    }

    /// Adds close_notify to the pending bytes, once.
    package func close() {
        connection.close()
    }
}
