import MartletLink
import MartletWire

/// The account's own session: requests that belong to no room, and the list of the account's rooms.
extension ClientRooms {
    /// The codes after which the session is not opened again on the same link.
    private static let finalAccountCodes: Set<ErrorCode> = [.unsupportedKind, .forbidden, .tooManySessions]

    /// The application uses the session from now on.
    mutating func useAccount(list: Bool, isCurrent: Bool, _ port: inout ClientPort, now: Instant) {
        account.use(list: list)
        if let refusal = account.refusal { port.outputs.append(.account(.unavailable(refusal))) }
        openAccount(&port, now: now)
        if isCurrent, account.isListOutdated { return beginList(&port, now: now) }
        requestList(&port, now: now)
    }

    /// Opens the session when the server has agreed on the feature. An earlier server would end the connection (S-51).
    mutating func openAccount(_ port: inout ClientPort, now: Instant) {
        guard account.isUsed, account.session == nil, account.refusal == nil, port.link.isConfirmed else { return }
        guard port.link.features.contains(.accountSession), let room = RoomName(configuration.account.text) else {
            return refuseAccount(.unsupportedKind, &port)
        }
        guard account.opensFrom <= now else { return timers.set(.account, at: account.opensFrom) }  // S-64
        guard takeOpen(now: now) else { return timers.set(.account, at: max(now, opensAvailableAt)) }
        do throws(LinkError) {
            let session = try port.link.open(Open(room: room, kind: .account, cursor: 0))
            account.begin(session)
            requests.send(of: ClientAccount.id, on: session, &port, now: now)
        } catch  where awaitsEndOfSession(port) {
            timers.set(.account, at: now + .seconds(1))
        } catch {
            fail(.tooManySessions, &port)
        }
    }

    private mutating func refuseAccount(_ code: ErrorCode, _ port: inout ClientPort) {
        account.refused(code)
        fail(code, &port)
    }

    /// Fails the pending requests and lists. A later call opens the session again, unless it is refused.
    private mutating func fail(_ code: ErrorCode, _ port: inout ClientPort) {
        requests.fail(of: ClientAccount.id, code, onlySent: false, &port)
        port.outputs.append(.account(.unavailable(code)))
    }

    /// Returns whether the session is the account's, which the relay has accepted.
    mutating func accountOpened(_ session: SessionID, _ port: inout ClientPort, now: Instant) -> Bool {
        guard session == account.session else { return false }
        account.opened(session)
        requestList(&port, now: now)
        return true
    }

    /// Returns whether the session is the account's, which has ended. It is opened again after a time.
    mutating func accountEnded(
        _ session: SessionID, _ code: ErrorCode, retryAfter: Duration?, _ port: inout ClientPort, now: Instant
    ) -> Bool {
        guard session == account.session else { return false }
        timers.cancel(.accountPage)
        port.link.releaseAll(on: session)
        if Self.finalAccountCodes.contains(code) {
            refuseAccount(code, &port)
            return true
        }
        let attempts = account.endSession()
        requests.fail(of: ClientAccount.id, code, onlySent: true, &port)
        port.outputs.append(.account(.interrupted))
        let next = now + (retryAfter ?? .zero) + delay(ofAttempt: attempts)
        if retryAfter != nil { account.opensFrom = next }
        timers.set(.account, at: next)
        return true
    }

    /// Adds a request that belongs to no room, and returns its number.
    ///
    /// - Throws: `messageTooLarge`, `tooManyRequests`, `queueFull`.
    mutating func accountRequest(
        _ method: MethodName, _ content: [UInt8]?, timeout: Duration, _ port: inout ClientPort, now: Instant
    ) throws(ClientError) -> UInt64 {
        guard Self.fits(content?.count ?? 0, port.link.limits) else { throw .messageTooLarge }
        account.use(list: false)
        let number = try requests.add(
            method, content, to: nil, of: ClientAccount.id, on: account.session, expires: now + timeout, &port,
            now: now)
        openAccount(&port, now: now)
        if let refusal = account.refusal { requests.fail(of: ClientAccount.id, refusal, onlySent: false, &port) }
        return number
    }

    // MARK: Frames

    /// Processes a frame of the account's session.
    mutating func receiveFromAccount(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ credit: Int, _ port: inout ClientPort,
        now: Instant
    ) throws(LinkError) {
        port.link.release(credit, on: session)
        try content.withBody { body throws(LinkError) in
            switch type {
            case .response: received(try Link.parse(Response.self, body), &port, now: now)
            case .update:
                guard let entry = try Link.parse(RoomUpdate.self, body).entry else {
                    return beginList(&port, now: now)
                }
                perform(account.list.take(entry), &port, now: now)
            case .request: Self.answer(try ReceivedRequest(parsing: body).declined, on: session, &port)
            case .cancel: break
            default: throw .peer(.protocolViolation)
            }
        }
    }

    private mutating func received(_ response: Response, _ port: inout ClientPort, now: Instant) {
        guard response.correlation == account.pageRequest else {
            return requests.finish(response, &port)
        }
        guard response.status == .none, let query = account.list.query,
            let page = try? RoomListPage(parsing: response.content, answering: query)
        else {
            // The list is requested again after a time, as by a page that is not answered.
            account.pageRequest = nil
            let wait = Self.bounded(response.retryAfter) ?? .zero  // S-65
            return timers.set(.accountPage, at: now + wait + delay(ofAttempt: 3))
        }
        account.pageRequest = nil
        timers.cancel(.accountPage)
        perform(account.list.take(page), &port, now: now)
    }

    // MARK: The list

    /// Requests the list, unless it is known or requested.
    private mutating func requestList(_ port: inout ClientPort, now: Instant) {
        guard account.usesList, account.isOpen, account.list.isIdle else { return }
        beginList(&port, now: now)
    }

    private mutating func beginList(_ port: inout ClientPort, now: Instant) {
        guard account.usesList, account.isOpen else { return }
        account.isListOutdated = false
        request(account.list.begin(), &port, now: now)
    }

    private mutating func perform(_ step: ClientRoomList.Step, _ port: inout ClientPort, now: Instant) {
        switch step {
        case .none: break
        case .request(let query): request(query, &port, now: now)
        case .listed(let entries): port.outputs.append(.account(.listed(entries)))
        case .changed(let entry): port.outputs.append(.account(.changed(entry)))
        }
    }

    private mutating func request(_ query: RoomListQuery, _ port: inout ClientPort, now: Instant) {
        guard let session = account.session else { return }
        let number = requests.takeNumber()
        let request = Request(
            correlation: number, method: MembershipMethod.list, deadline: ClientAccount.pageTimeout, recipient: nil,
            sender: nil, content: query.content)
        let isQueued = port.link.send(.request, EncodedBody(request.encode()), on: session) == .queued
        account.pageRequest = isQueued ? number : nil
        timers.set(.accountPage, at: now + (isQueued ? ClientAccount.pageTimeout : .seconds(1)))
    }

    /// A page was not answered in time, or not with a page.
    mutating func pageTimedOut(_ port: inout ClientPort, now: Instant) { beginList(&port, now: now) }
}
