import MartletProtocol
import MartletTransport
import MartletWire

/// What a relay is given by whoever embeds it.
final class RelayParts: Sendable {
    let configuration: Relay.Configuration
    let store: any RoomStore
    /// The store once more, if it answers at once.
    let immediateStore: (any ImmediateRoomStore)?
    let authenticator: any Authenticator
    let requestHandler: (any RequestHandler)?
    let onEvent: @Sendable (RelayEvent) -> Void

    init(
        _ configuration: Relay.Configuration, _ store: any RoomStore, _ authenticator: any Authenticator,
        _ requestHandler: (any RequestHandler)?, _ onEvent: @escaping @Sendable (RelayEvent) -> Void
    ) {
        self.configuration = configuration
        self.store = store
        immediateStore = store as? any ImmediateRoomStore
        self.authenticator = authenticator
        self.requestHandler = requestHandler
        self.onEvent = onEvent
    }

    /// Asks the authenticator; whatever it throws becomes an answer (C-27).
    func authenticate(_ request: AuthenticationRequest) async -> Result<AccountName, AuthenticationFailure> {
        do {
            return .success(try await authenticator.authenticate(request))
        } catch let failure as AuthenticationFailure {
            return .failure(failure)
        } catch {
            if !(error is CancellationError) { onEvent(.authenticatorFailed(request.account, error)) }
            return .failure(AuthenticationFailure(busy))
        }
    }

    /// Runs a call of the store; an event tells what it threw.
    func storing<Answer>(_ room: RoomName, _ call: () throws -> Answer) -> StoreAnswer<Answer> {
        do { return .done(try call()) } catch { return failed(room, error) }
    }

    /// The same for a store that takes its time.
    func storing<Answer: Sendable>(_ room: RoomName, _ call: () async throws -> Answer) async -> StoreAnswer<Answer> {
        do { return .done(try await call()) } catch { return failed(room, error) }
    }

    private func failed<Answer>(_ room: RoomName, _ error: any Error) -> StoreAnswer<Answer> {
        onEvent(.storeFailed(room, error))
        return error is LogLost ? .logLost : .failed
    }

    var busy: Notice { Notice(code: .serverBusy, retryAfter: configuration.busyRetryAfter) }
}

/// What came of a call of the store.
enum StoreAnswer<Answer> {
    case done(Answer)
    case failed
    /// The room's log is not there any more.
    case logLost

    /// Nil when it failed.
    var value: Answer? {
        if case .done(let answer) = self { answer } else { nil }
    }
}

extension StoreAnswer: Sendable where Answer: Sendable {}
