import MartletDecode
import MartletWire

/// A filter of events. Faults and notes pass for every session and type.
struct DecodeFilter: Equatable, Sendable {
    /// The connection to show; nil for all.
    var connection: Int?
    /// The session to show, with the resets that name it; nil for all.
    var session: SessionID?
    /// The types to show; empty for all.
    var types: Set<FrameType> = []

    func shows(_ event: DecodeEvent) -> Bool {
        switch event {
        case .frame(let frame):
            shows(frame.position) && (types.isEmpty || types.contains(frame.header.type)) && isOfSession(frame)
        case .fault(let position, _), .note(let position, _): shows(position)
        }
    }

    private func shows(_ position: StreamPosition) -> Bool { connection.map { $0 == position.connection } ?? true }

    private func isOfSession(_ frame: DecodedFrame) -> Bool {
        guard let session else { return true }
        if case .frame(.reset(let reset)) = frame.content { return reset.session == session }
        return frame.header.session == session
    }
}
