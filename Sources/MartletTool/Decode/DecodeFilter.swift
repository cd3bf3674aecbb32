import MartletWire

/// Which events are shown; faults are, whatever is asked for, but on other connections.
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
            shows(frame.place) && (types.isEmpty || types.contains(frame.header.type)) && isOfSession(frame)
        case .fault(let place, _), .note(let place, _): shows(place)
        }
    }

    private func shows(_ place: Place) -> Bool { connection.map { $0 == place.connection } ?? true }

    private func isOfSession(_ frame: DecodedFrame) -> Bool {
        guard let session else { return true }
        if case .frame(.reset(let reset)) = frame.content { return reset.session == session }
        return frame.header.session == session
    }
}
