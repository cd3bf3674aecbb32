import MartletProtocol
import MartletTransport
import MartletWire

/// What others have for a client's loop to do. The loop is woken only when the mailbox was empty and takes all of it at
/// once. Each command that was posted is performed or, once the client is over, refused: its caller gets an answer.
///
/// It needs no bound of its own: a room is in it once, wishes are flags, and every other command has a caller that
/// waits for its outcome or is one of a bounded number.
final class Mailbox: Sendable {
    enum Command: Sendable {
        /// The room's application said something.
        case changed(RoomCore)
        case open(RoomName, Room.Options, Promise<RoomCore>)
        case abandonOpen(Promise<RoomCore>)
        case close(RoomCore, Promise<Void>)
        case cancel(RoomCore, counter: UInt64, Promise<Bool>)
        case request(RoomCore, RequestCall)
        case abandonRequest(Promise<Answer>)
        case respond(RoomID, Response)
        case credential(ConnectionID, CredentialOutcome)
        case outbox(OutboxWriter.Outcome)
        case statistics(Promise<Client.Statistics>)
        case stop(Promise<Void>)
        /// Nobody is left who could use the client.
        case abandon
    }

    /// What counts only as it was last said.
    struct Wishes: Sendable {
        var mode: HeartbeatMode?
        var retriesNow = false
    }

    enum AfterPost: Sendable {
        case posted
        case notStarted
        case stopped
    }

    private enum Owner: Sendable {
        case none
        case driver(ClientDriver)
        case gone
    }

    private struct State: Sendable {
        var owner = Owner.none
        var commands: [Command] = []
        var wishes = Wishes()
        var isPosted = false
        /// The loop has taken `retriesNow` and has not tried yet.
        var isRetrying = false
    }

    private let loop: EventLoop
    private let state = Guarded(State())

    init(loop: EventLoop) {
        self.loop = loop
    }

    @discardableResult
    func post(_ command: Command) -> AfterPost {
        change { $0.commands.append(command) }
    }

    func wish(_ body: (inout Wishes) -> Void) {
        _ = change { body(&$0.wishes) }
    }

    /// Whether `retryNow` was called and the client has not tried again yet: until then a client that has given up is
    /// not over for its callers.
    var isRetrying: Bool {
        state.withLock { $0.isRetrying || $0.wishes.retriesNow }
    }

    /// The client tries again, and its rooms have been told.
    func endRetrying() {
        state.withLock { $0.isRetrying = false }
    }

    private func change(_ body: (inout State) -> Void) -> AfterPost {
        let (answer, woken) = state.withLock { state -> (AfterPost, ClientDriver?) in
            switch state.owner {
            case .none: return (.notStarted, nil)
            case .gone: return (.stopped, nil)
            case .driver(let driver):
                body(&state)
                defer { state.isPosted = true }
                return (.posted, state.isPosted ? nil : driver)
            }
        }
        if let woken { loop.execute { woken.drainMailbox() } }
        return answer
    }

    /// From now on commands are taken; they wait until the driver's start takes them. Comes before the start, which
    /// may have a credential posted at once.
    func open(for driver: ClientDriver) {
        state.withLock { state in
            state.owner = .driver(driver)
            state.isPosted = true
        }
    }

    /// No command is taken any more; the answer is what was left.
    func close() -> [Command] {
        state.withLock { state in
            state.owner = .gone
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// All commands, in exchange for an empty array whose storage is used again.
    func take(leaving spare: inout [Command]) -> Wishes {
        state.withLock { state in
            swap(&state.commands, &spare)
            state.isPosted = false
            state.isRetrying = state.wishes.retriesNow
            defer { state.wishes = Wishes() }
            return state.wishes
        }
    }
}

extension Mailbox.Command {
    /// The client has stopped: whoever waits is told.
    func refuse(_ statistics: Client.Statistics) {
        switch self {
        case .open(_, _, let promise): promise.resolve(.failure(MartletError.stopped))
        case .close(_, let promise), .stop(let promise): promise.resolve(.success(()))
        case .cancel(_, _, let promise): promise.resolve(.success(false))
        case .request(_, let call): call.promise.resolve(.failure(MartletError.stopped))
        case .statistics(let promise): promise.resolve(.success(statistics))
        case .changed, .abandonOpen, .abandonRequest, .respond, .credential, .outbox, .abandon: break
        }
    }
}

/// A request that the application makes.
struct RequestCall: Sendable {
    let method: MethodName
    let content: [UInt8]?
    let recipient: AccountName?
    let deadline: Duration
    let promise: Promise<Answer>
}

/// What became of asking for a credential.
enum CredentialOutcome: Sendable {
    case credential(Credential?)
    /// What the provider's error says.
    case failed(String)
}
