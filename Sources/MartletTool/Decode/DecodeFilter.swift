import MartletDecode
import MartletWire

/// Selects the events to show. Faults and notes are shown whatever the session and the type.
struct DecodeFilter: Equatable, Sendable {
    /// Only this connection.
    var connection: Int?
    /// Only this session, and the resets that name it.
    var session: SessionID?
    /// Only these types; all when there are none.
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
