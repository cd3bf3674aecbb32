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

    /// Runs a call of the store; nil, and an event, when it threw.
    func storing<Answer>(_ room: RoomName, _ call: () throws -> Answer) -> Answer? {
        do { return try call() } catch {
            onEvent(.storeFailed(room, error))
            return nil
        }
    }

    /// The same for a store that takes its time.
    func storing<Answer: Sendable>(_ room: RoomName, _ call: () async throws -> Answer) async -> Answer? {
        do { return try await call() } catch {
            onEvent(.storeFailed(room, error))
            return nil
        }
    }

    var busy: Notice { Notice(code: .serverBusy, retryAfter: configuration.busyRetryAfter) }
}
