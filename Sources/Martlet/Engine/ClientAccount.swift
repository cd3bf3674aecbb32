import MartletLink
package import MartletWire

/// The account's own session of a client: it is open while the application uses it.
///
/// | state | data | ends |
/// |---|---|---|
/// | unused | | `use` |
/// | closed | the number of attempts | `begin`; `refused` |
/// | opening, open | the session, the request for a page | `endSession` |
/// | refused | | the next link |
struct ClientAccount: Sendable {
    private enum State: Sendable {
        case closed
        case opening(SessionID)
        case open(SessionID)
        case refused(ErrorCode)
    }

    /// The ID by which the requests of the session are found. No room has it.
    static let id = RoomID(rawValue: 0)
    /// The duration after which a page is requested again.
    static let pageTimeout: Duration = .seconds(30)

    private var state = State.closed
    private(set) var isUsed = false
    /// Whether the application uses the list of rooms.
    private(set) var usesList = false
    private var attempts = 0
    /// The instant before which the relay accepts no session (S-64).
    var opensFrom = Instant.zero
    var list = ClientRoomList()
    /// Whether the client has changed a membership record since the list was requested (C-110).
    var isListOutdated = false
    /// The correlation of the request for a page.
    var pageRequest: UInt64?

    var session: SessionID? {
        switch state {
        case .closed, .refused: nil
        case .opening(let session), .open(let session): session
        }
    }

    var isOpen: Bool { if case .open = state { true } else { false } }

    /// The code with which the relay has refused the session permanently.
    var refusal: ErrorCode? { if case .refused(let code) = state { code } else { nil } }

    mutating func use(list: Bool) {
        isUsed = true
        if list { usesList = true }
    }

    mutating func begin(_ session: SessionID) { state = .opening(session) }

    mutating func opened(_ session: SessionID) {
        state = .open(session)
        attempts = 0
    }

    /// The session has ended. Returns the number of attempts since the last open session.
    @discardableResult
    mutating func endSession() -> Int {
        state = .closed
        list.end()
        pageRequest = nil
        attempts += 1
        return attempts
    }

    mutating func refused(_ code: ErrorCode) {
        endSession()
        state = .refused(code)
    }

    /// Another link begins.
    mutating func linkBegan() {
        endSession()
        attempts = 0
    }
}

/// An event of the account's own session.
package enum AccountEvent: Equatable, Sendable {
    /// The complete list of the account's rooms, in the order of the names' bytes.
    case listed([RoomEntry])
    /// An entry has changed since. Its membership is `none` when the account has no record any more.
    case changed(RoomEntry)
    /// The session has ended, and is opened again. The list may be outdated until it is reported again.
    case interrupted
    /// The relay serves no session of the account: `unsupportedKind`, or the code of its refusal.
    case unavailable(ErrorCode)
}
