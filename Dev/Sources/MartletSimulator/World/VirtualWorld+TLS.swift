import Martlet
import MartletLink
import MartletTransport
import MartletWire

/// TLS between the engines and the ordered carrier, as `TLSTransport` uses it on a socket. Carriers without order have
/// none.
extension VirtualWorld {
    /// Bytes of a carrier that travel together.
    struct Segment {
        var bytes: [UInt8]
        /// The bytes that count for the rate and the window of the path.
        var byteCount: Int

        init(_ bytes: [UInt8], byteCount: Int? = nil) {
            self.bytes = bytes
            self.byteCount = byteCount ?? bytes.count
        }
    }

    /// Starts the handshake of a new connection. The client's engine learns of the connection after it. Returns false
    /// without TLS.
    func startTLS(_ index: Int) -> Bool {
        let client = connections[index].client
        guard let tls, clients[client].carrier == .reliable else { return false }
        connections[index].tls = tls.connect(client)
        sendPending(index, atRelay: false)
        return true
    }

    /// Sends messages of a handshake, alerts and close_notify, in three segments, so that faults can separate them.
    func sendPending(_ index: Int, atRelay: Bool) {
        guard connections[index][atRelay: atRelay].isOpen,
            let bytes = connections[index].tls?[atRelay: atRelay].takePending(), !bytes.isEmpty
        else { return }
        for part in 0..<3 {
            let piece = Array(bytes[(bytes.count * part / 3)..<(bytes.count * (part + 1) / 3)])
            schedule(Segment(piece, byteCount: VirtualTLS.handshakeByteCount / 3), index, atRelay: atRelay)
        }
    }

    /// Sends pending messages and returns the records of the application data; none before the handshake is complete.
    func encrypted(_ index: Int, atRelay: Bool, _ data: () -> [UInt8]) -> [UInt8] {
        guard let stream = connections[index].tls?[atRelay: atRelay] else { return data() }
        sendPending(index, atRelay: atRelay)
        return stream.isOpen ? stream.send(data()) : []
    }

    /// Returns the application data in received bytes. Reports a completed handshake to the client first.
    func decrypted(_ bytes: [UInt8], _ index: Int, atRelay: Bool) -> [UInt8] {
        guard let stream = connections[index].tls?[atRelay: atRelay] else { return bytes }
        let wasOpen = stream.isOpen
        let data = stream.receive(bytes)
        if !wasOpen, stream.isOpen, !atRelay {
            tls?.handshakeCount += 1
            if stream.isResumed { tls?.resumptionCount += 1 }
            let client = clients[connections[index].client]
            client.engine.connected(connections[index].id, localAddress: nil, now: now)
            settle(client)
        }
        return data
    }

    /// Sends the answers of TLS to received bytes, and handles the end of the stream.
    func finishReceiving(_ index: Int, atRelay: Bool) {
        guard let stream = connections[index].tls?[atRelay: atRelay] else { return }
        sendPending(index, atRelay: atRelay)
        if let error = stream.error {
            tls?.failures.append("connection \(index) failed at the \(atRelay ? "relay" : "client"): \(error)")
            end(index, atRelay, .reset)
        } else if stream.isPeerClosed {
            end(index, atRelay, .finished)
        } else if connections[index][atRelay: atRelay].hasEnded {
            endCarrier(index, atRelay, .finished)
        }
    }

    /// Handles the end of the carrier. Without close_notify it is a reset (C-65), during the handshake a failure.
    func endCarrier(_ index: Int, _ atRelay: Bool, _ ending: Ending) {
        guard let stream = connections[index].tls?[atRelay: atRelay], ending == .finished else {
            return end(index, atRelay, ending)
        }
        guard connections[index][atRelay: atRelay].unread.isEmpty else {
            connections[index][atRelay: atRelay].hasEnded = true
            return
        }
        guard !stream.isPeerClosed else { return }
        if !stream.isOpen, !atRelay, connections[index].clientSide.isOpen {
            let client = clients[connections[index].client]
            client.engine.connectFailed(connections[index].id, .tlsFailure, now: now)
        }
        end(index, atRelay, .reset)
    }

    /// Sends close_notify after the last bytes.
    func closeTLS(_ index: Int, atRelay: Bool) {
        connections[index].tls?[atRelay: atRelay].close()
        sendPending(index, atRelay: atRelay)
    }

    /// Releases the TLS of a connection that both ends have closed.
    func releaseTLS(_ index: Int) {
        guard !connections[index].clientSide.isOpen, !connections[index].relaySide.isOpen else { return }
        connections[index].tls = nil
    }
}
