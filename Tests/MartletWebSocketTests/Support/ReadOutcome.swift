import MartletTransport
import MartletWire

@testable import MartletWebSocket

/// What a reader finds in a stream, whatever the pieces in which it arrives.
struct ReadOutcome: Equatable {
    /// The bytes of all messages.
    var data: [UInt8] = []
    /// Pings and the close frame in their order.
    var controls: [WebSocketReader.Event] = []
    var error: WebSocketError?

    init(data: [UInt8] = [], controls: [WebSocketReader.Event] = [], error: WebSocketError? = nil) {
        (self.data, self.controls, self.error) = (data, controls, error)
    }

    /// Reads a stream in pieces that begin at these offsets, in order.
    init(reading stream: [UInt8], ofClient: Bool, cuts: [Int] = []) {
        var reader = WebSocketReader(ofClient: ofClient)
        let bounds = [0] + cuts + [stream.count]
        for (start, end) in zip(bounds, bounds.dropFirst()) {
            let piece = stream[start..<end]
            var offset = 0
            do throws(WebSocketError) {
                while let event = try reader.next(in: piece.rawBytes, at: &offset) { take(event, of: piece.rawBytes) }
            } catch {
                self.error = error
                return
            }
        }
    }

    private mutating func take(_ event: WebSocketReader.Event, of piece: RawSpan) {
        guard case .data(let range, let key) = event else { return controls.append(event) }
        data += [UInt8](capacity: range.count) { output in
            output.append(bytes: piece.extracting(range))
            output.mask(from: 0, key: key)
        }
    }
}
