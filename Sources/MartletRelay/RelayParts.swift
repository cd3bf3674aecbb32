import MartletLink
import MartletTransport
import MartletWire
import Synchronization

/// The components that the embedding application provides.
final class RelayParts: Sendable {
    let configuration: Relay.Configuration
    let store: any RoomStore
    let authenticator: any Authenticator
    let policy: any RoomPolicy
    let requestHandler: (any RequestHandler)?
    let telemetry: TelemetryIntake?
    let attachments: (any AttachmentStore)?
    let undeliveredHandler: (any UndeliveredHandler)?
    /// The bus between the relays of the store; nil for none.
    let bus: (any RelayBus)?
    let onEvent: @Sendable (RelayEvent) -> Void
    /// The limits of addresses and accounts. Connections arrive on the first loop and close on all loops.
    let limiter: Guarded<PeerLimiter>
    /// Whether an append has failed and none has succeeded since.
    private let hasFailedAppend = Atomic(false)
    /// The relay, for requests for its administration.
    let relay = Guarded(RelayReference())
    /// Whether the relay has been drained.
    let isDraining = Atomic(false)

    init(
        _ configuration: Relay.Configuration, _ store: any RoomStore, _ authenticator: any Authenticator,
        _ policy: any RoomPolicy, _ requestHandler: (any RequestHandler)?, _ telemetry: (any TelemetrySink)?,
        _ attachments: (any AttachmentStore)?, _ undeliveredHandler: (any UndeliveredHandler)?,
        _ bus: (any RelayBus)?, _ onEvent: @escaping @Sendable (RelayEvent) -> Void
    ) {
        self.configuration = configuration
        self.store = store
        self.authenticator = authenticator
        self.policy = policy
        self.requestHandler = requestHandler
        self.telemetry = telemetry.map { TelemetryIntake($0) }
        self.attachments = attachments
        self.undeliveredHandler = undeliveredHandler
        self.bus = bus
        self.onEvent = onEvent
        limiter = Guarded(PeerLimiter(configuration.limits))
    }

    /// Calls the authenticator. Any error becomes a refusal (C-27).
    func authenticate(_ request: AuthenticationRequest) async -> AuthenticationVerdict {
        await verdict(on: request.account) {
            guard request.mechanism != nil else {
                return .accepted(try await authenticator.authenticate(request), final: nil)
            }
            guard let exchange = try authenticator.exchange(for: request) else {
                let reason = "the relay supports no mechanisms"
                return .refused(AuthenticationFailure(Notice(code: .unauthenticated, reason: reason)))
            }
            return try await step(exchange, request.credential?.bytes ?? [])
        }
    }

    /// Continues an exchange with a message of the client.
    func proceed(
        _ exchange: any AuthenticationExchange, of account: AccountName, with message: Credential
    ) async -> AuthenticationVerdict {
        await verdict(on: account) { try await step(exchange, message.bytes) }
    }

    private func step(
        _ exchange: any AuthenticationExchange, _ message: [UInt8]
    ) async throws -> AuthenticationVerdict {
        var exchange = exchange
        switch try await exchange.step(message) {
        case .challenge(let message): return .challenge(try credential(message), exchange)
        case .accepted(let identity, let final): return .accepted(identity, final: try final.map(credential))
        }
    }

    private func credential(_ message: [UInt8]) throws -> Credential {
        guard let credential = Credential(message) else { throw OversizedMessage(byteCount: message.count) }
        return credential
    }

    private func verdict(
        on account: AccountName, _ call: () async throws -> AuthenticationVerdict
    ) async -> AuthenticationVerdict {
        do {
            return try await call()
        } catch let failure as AuthenticationFailure {
            if let cause = failure.cause { onEvent(.authenticationRefused(account, cause: cause)) }
            return .refused(failure)
        } catch {
            if !(error is CancellationError) { onEvent(.authenticatorFailed(account, error)) }
            return .refused(AuthenticationFailure(busy))
        }
    }

    /// The result of a call that needs no task; nil if it needs one.
    func immediateResult(of call: RelayCall) -> RelayResult? {
        switch call {
        case .authorize(let request):
            (policy as? any ImmediateRoomPolicy).map { .decision($0.immediateDecision(on: request)) }
        case .administer: nil
        case .request(let room, let request):
            //
            takes(request, in: room) || requestHandler != nil ? nil : .answer(RequestAnswer(status: .unknownMethod))
        case .attachment: nil
        }
    }

    /// Calls the room policy, the request handler or the attachment store.
    func perform(_ call: RelayCall) async -> RelayResult {
        switch call {
        case .authorize(let request): .decision(await decide(request))
        case .request(let room, let request): .answer(await answer(request, in: room))
        case .administer(let request): .answer(await administer(request))
        case .attachment(let call): .attachment(await perform(call))
        }
    }

    /// Whether the request has points for the sink.
    private func takes(_ request: Request, in room: RoomName?) -> Bool {
        telemetry != nil && room == nil && request.method == TelemetryBatch.method
    }

    private func administer(_ request: Request) async -> RequestAnswer {
        guard let relay = relay.withLock(\.relay) else { return RequestAnswer(status: .serverBusy) }
        return await relay.answer(request)
    }

    private func answer(_ request: Request, in room: RoomName?) async -> RequestAnswer {
        if let telemetry, takes(request, in: room), let sender = request.sender {
            return await telemetry.answer(request, of: sender)
        }
        guard let requestHandler, let sender = request.sender else { return RequestAnswer(status: .unknownMethod) }
        return await requestHandler.respond(
            to: RelayRequest(
                room: room, sender: sender, method: request.method, content: request.content,
                timeout: request.deadline))
    }

    /// Calls the room policy; nil after an error.
    private func decide(_ request: RoomAuthorizationRequest) async -> RoomDecision? {
        do {
            return try await policy.decision(on: request)
        } catch {
            onEvent(.policyFailed(request.room, error))
            return nil
        }
    }

    /// Calls the attachment store. Any error but `AttachmentFailure` is reported as an event.
    private func perform(_ call: AttachmentCall) async -> AttachmentResult {
        guard let attachments else { return .failed(.unavailable) }
        do {
            switch call {
            case .begin(let upload, let byteCount, let mediaType):
                let position = try await attachments.begin(upload, byteCount: byteCount, mediaType: mediaType)
                return .done(.position(position, byteCount: byteCount))
            case .write(let upload, let position, let chunks):
                let (end, byteCount) = try await attachments.write(chunks, at: position, of: upload)
                return .done(.position(end, byteCount: byteCount))
            case .read(let room, let digest, let position, let length):
                let (bytes, byteCount) = try await attachments.read(digest, in: room, at: position, length: length)
                return .done(.bytes(bytes, byteCount: byteCount))
            case .info(let room, let digest):
                let (byteCount, mediaType) = try await attachments.info(digest, in: room)
                return .done(.info(byteCount: byteCount, mediaType: mediaType))
            case .remove(let upload):
                try await attachments.remove(upload)
                return .done(.removed)
            }
        } catch let failure as AttachmentFailure {
            return .failed(failure)
        } catch {
            onEvent(.storeFailed(call.room, error))
            return .failed(.unavailable)
        }
    }

    /// Reports the error of an answer of the store as an event.
    func note(_ answer: StoreAnswer) {
        switch answer {
        case .load(let room, .failure(let error)), .read(let room, _, .failure(let error)),
            .saveProgress(let room, .failure(let error)), .saveMemberships(let room, .failure(let error)),
            .saveRetention(let room, _, .failure(let error)):
            onEvent(.storeFailed(room, error.cause))
        // A refusal of an account is not a failure of the store.
        case .saveRoles(_, .failure(.tooManyRooms)), .saveRoles(_, .failure(.rolesFull)),
            .saveRoles(_, .failure(.rolesChanged)):
            break
        case .saveRoles(let room, .failure(let error)): onEvent(.storeFailed(room, error.cause))
        // Another relay was first. The room goes on.
        case .append(_, _, _, .failure(.conflict)), .append(_, _, _, .failure(.rolesChanged)): break
        case .append(let room, _, _, .failure(let error)):
            if case .logLost = error {} else { appendEnded(isDone: false) }
            onEvent(.storeFailed(room, error.cause))
        case .append(_, _, _, .success): appendEnded(isDone: true)
        case .readMemberships(let id, .failure(let error)): onEvent(.membershipsFailed(id.account, error.cause))
        // The event is reported for the first of these rooms.
        case .touch(let rooms, .failure(let error)): onEvent(.storeFailed(rooms[0], error.cause))
        case .load, .read, .saveProgress, .saveRoles, .saveMemberships, .readMemberships, .saveRetention, .touch,
            .changes:
            break
        }
    }

    /// Reports the first append that succeeds after one that failed.
    func appendEnded(isDone: Bool) {
        if !isDone { return hasFailedAppend.store(true, ordering: .relaxed) }
        guard hasFailedAppend.load(ordering: .relaxed) else { return }
        if hasFailedAppend.exchange(false, ordering: .relaxed) { onEvent(.storeRecovered) }
    }

    var isStoreFailing: Bool { hasFailedAppend.load(ordering: .relaxed) }

    var busy: Notice { Notice(code: .serverBusy, retryAfter: configuration.busyRetryAfter) }
}

/// A reference that does not keep the relay running.
struct RelayReference {
    weak var relay: Relay?
}

/// The result of a call of the authenticator.
enum AuthenticationVerdict: Sendable {
    case accepted(Identity, final: Credential?)
    case challenge(Credential, any AuthenticationExchange)
    case refused(AuthenticationFailure)
}

/// An exchange returned a message that is longer than 4096 bytes.
private struct OversizedMessage: Error {
    let byteCount: Int
}

extension AttachmentCall {
    /// The room of the attachment.
    fileprivate var room: RoomName {
        switch self {
        case .begin(let upload, _, _), .write(let upload, _, _), .remove(let upload): upload.room
        case .read(let room, _, _, _), .info(let room, _): room
        }
    }
}
