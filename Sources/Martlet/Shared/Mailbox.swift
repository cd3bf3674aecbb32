import MartletLink
import MartletTransport
import MartletWire

/// The commands that other threads give to a client's loop. A command wakes the loop only if the mailbox was empty; the
/// loop takes all commands at once. Each command is performed, or refused if the client has ended, so that its caller
/// receives a result.
///
/// The mailbox needs no bound of its own. It contains a room at most once and one value of each setting; each other
/// command has a waiting caller or is one of a bounded number.
final class Mailbox: Sendable {
    enum Command: Sendable {
        /// The application has changed the state of the room.
        case changed(RoomCore)
        case open(RoomName, Room.Options, Promise<RoomCore>)
        case abandonOpen(Promise<RoomCore>)
        case close(RoomCore, Promise<Void>)
        case cancel(RoomCore, counter: UInt64, Promise<Bool>)
        case edit(RoomCore, counter: UInt64, MessageContent, Promise<Bool>)
        case deadLetters(RoomCore, Promise<[DeadLetter]>)
        case discard(MessageID, Promise<Void>)
        case acknowledge(RoomCore, Acknowledgement)
        case abandonAcknowledgement(RoomCore, Promise<[MessageHandle]>)
        case request(RoomCore, RequestCall)
        case abandonRequest(Promise<Answer>)
        case rooms(Promise<[RoomSummary]>)
        case abandonRooms(Promise<[RoomSummary]>)
        case watchRooms
        /// The client has changed a membership record.
        case roomsOutdated
        case accountRequest(RequestCall)
        /// A transfer is prepared.
        case transfer(TransferCore)
        case cancelTransfer(TransferCore)
        case respond(RoomID, session: UInt64, Response)
        case outbox(OutboxWriter.Outcome)
        case metrics(Promise<ClientMetrics>)
        case recording(Promise<[UInt8]>)
        case stop(Promise<Void>)
        /// The last reference to the client was released.
        case abandon
    }

    /// The settings that the loop has not taken. A later value replaces an earlier one.
    struct PendingSettings: Sendable {
        var mode: HeartbeatMode?
        var retriesNow = false
        /// Whether the points of the application have another deadline.
        var hasTelemetry = false
    }

    enum AfterPost: Sendable {
        case posted
        case notStarted
        case stopped
    }

    private enum Owner: Sendable {
        case none
        case driver(ClientDriver)
        case stopped
    }

    private struct State: Sendable {
        var owner = Owner.none
        var commands: [Command] = []
        var settings = PendingSettings()
        var isPosted = false
        /// Whether the loop has taken `retriesNow` and has not yet started an attempt.
        var isRetrying = false
    }

    let loop: EventLoop
    /// The thread for the files of attachments.
    let files = FileThread(named: "martlet-files")
    private let state = Guarded(State())

    init(loop: EventLoop) {
        self.loop = loop
    }

    @discardableResult
    func post(_ command: Command) -> AfterPost {
        change { $0.commands.append(command) }
    }

    /// A command for which the loop is not yet woken.
    struct Posted: Sendable {
        fileprivate let loop: EventLoop
        fileprivate let driver: ClientDriver

        func wake() {
            loop.execute { [driver] in driver.drainMailbox() }
        }
    }

    /// Adds a command without waking the loop; nil if the loop need not be woken.
    func append(_ command: Command) -> Posted? {
        add({ $0.commands.append(command) }).woken.map { Posted(loop: loop, driver: $0) }
    }

    /// Changes the pending settings of a running client.
    func set(_ body: (inout PendingSettings) -> Void) {
        _ = change { body(&$0.settings) }
    }

    /// Whether `retryNow` was called and no attempt has started since. Until then, calls on a client that has stopped
    /// retrying do not fail.
    var isRetrying: Bool {
        state.withLock { $0.isRetrying || $0.settings.retriesNow }
    }

    /// Reports that the client has started an attempt and notified its rooms.
    func endRetrying() {
        state.withLock { $0.isRetrying = false }
    }

    private func change(_ body: (inout State) -> Void) -> AfterPost {
        let (answer, woken) = add(body)
        if let woken { Posted(loop: loop, driver: woken).wake() }
        return answer
    }

    private func add(_ body: (inout State) -> Void) -> (answer: AfterPost, woken: ClientDriver?) {
        state.withLock { state -> (AfterPost, ClientDriver?) in
            switch state.owner {
            case .none: return (.notStarted, nil)
            case .stopped: return (.stopped, nil)
            case .driver(let driver):
                body(&state)
                defer { state.isPosted = true }
                return (.posted, state.isPosted ? nil : driver)
            }
        }
    }

    /// Admits commands, which wait for the start of the driver. This call precedes the start, which can cause a
    /// `credential` command at once.
    func open(for driver: ClientDriver) {
        state.withLock { state in
            state.owner = .driver(driver)
            state.isPosted = true
        }
    }

    /// Refuses further commands, and returns the commands that were not performed.
    func close() -> [Command] {
        state.withLock { state in
            state.owner = .stopped
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Takes the commands and returns the settings. The storage of the given empty array is reused.
    func take(leaving empty: inout [Command]) -> PendingSettings {
        state.withLock { state in
            swap(&state.commands, &empty)
            state.isPosted = false
            state.isRetrying = state.settings.retriesNow
            defer { state.settings = PendingSettings() }
            return state.settings
        }
    }
}

extension Mailbox.Command {
    /// Resolves the promise of a command after the client has stopped.
    func refuse(_ metrics: ClientMetrics) {
        switch self {
        case .open(_, _, let promise): promise.resolve(.failure(MartletError.stopped))
        case .close(_, let promise), .stop(let promise): promise.resolve(.success(()))
        case .cancel(_, _, let promise), .edit(_, _, _, let promise): promise.resolve(.success(false))
        case .deadLetters(_, let promise): promise.resolve(.failure(MartletError.stopped))
        case .discard(_, let promise): promise.resolve(.failure(MartletError.stopped))
        case .acknowledge(_, let call): call.promise.resolve(.failure(MartletError.stopped))
        case .rooms(let promise): promise.resolve(.failure(MartletError.stopped))
        case .request(_, let call), .accountRequest(let call): call.promise.resolve(.failure(MartletError.stopped))
        case .metrics(let promise): promise.resolve(.success(metrics))
        case .recording(let promise): promise.resolve(.success([]))
        case .abandonRooms, .watchRooms, .roomsOutdated: break
        case .transfer(let core), .cancelTransfer(let core): core.end(.failure(MartletError.stopped))
        case .changed, .abandonOpen, .abandonAcknowledgement, .abandonRequest, .respond, .outbox, .abandon:
            break
        }
    }
}

/// The acknowledgement of a delivery, with the replies that are stored with it.
struct Acknowledgement: Sendable {
    let cursor: RoomCursor
    let replies: [OutgoingMessage]
    let promise: Promise<[MessageHandle]>
}

/// A request of the application.
struct RequestCall: Sendable {
    let method: MethodName
    let content: [UInt8]?
    let recipient: AccountName?
    let deadline: Duration
    let promise: Promise<Answer>
}
