import MartletLink
import MartletWire

/// The account's own session: requests that belong to no room, and the list of the account's rooms.
extension ClientRooms {
    /// The codes after which the session is not opened again on the same link.
    private static let finalAccountCodes: Set<ErrorCode> = [.unsupportedKind, .forbidden, .tooManySessions]

    /// The application uses the session from now on.
    mutating func useAccount(list: Bool, isCurrent: Bool, _ link: inout Link, now: Instant) {
        account.use(list: list)
        if let refusal = account.refusal { outputs.append(.account(.unavailable(refusal))) }
        openAccount(&link, now: now)
        if isCurrent, account.isListOutdated { return beginList(&link, now: now) }
        requestList(&link, now: now)
    }

    /// Opens the session when the server has agreed on the feature. An earlier server would end the connection (S-51).
    mutating func openAccount(_ link: inout Link, now: Instant) {
        guard account.isUsed, account.session == nil, account.refusal == nil, link.isConfirmed else { return }
        guard link.features.contains(.accountSession), let room = RoomName(configuration.link.account.text) else {
            return refuseAccount(.unsupportedKind, &link)
        }
        guard account.opensFrom <= now else { return timers.set(.account, at: account.opensFrom) }  // S-64
        guard takeOpen(now: now) else { return timers.set(.account, at: max(now, opensAvailableAt)) }
        do throws(LinkError) {
            let session = try link.open(Open(room: room, kind: .account, cursor: 0))
            account.begin(session)
            requests.send(of: ClientAccount.id, on: session, &link, &outputs, now: now)
        } catch  where awaitsEndOfSession(link) {
            timers.set(.account, at: now + .seconds(1))
        } catch {
            fail(.tooManySessions, &link)
        }
    }

    private mutating func refuseAccount(_ code: ErrorCode, _ link: inout Link) {
        account.refused(code)
        fail(code, &link)
    }

    /// Fails the pending requests and lists. A later call opens the session again, unless it is refused.
    private mutating func fail(_ code: ErrorCode, _ link: inout Link) {
        requests.fail(of: ClientAccount.id, code, onlySent: false, &link, &outputs)
        outputs.append(.account(.unavailable(code)))
    }

    /// Returns whether the session is the account's, which the relay has accepted.
    mutating func accountOpened(_ session: SessionID, _ link: inout Link, now: Instant) -> Bool {
        guard session == account.session else { return false }
        account.opened(session)
        requestList(&link, now: now)
        return true
    }

    /// Returns whether the session is the account's, which has ended. It is opened again after a time.
    mutating func accountEnded(
        _ session: SessionID, _ code: ErrorCode, retryAfter: Duration?, _ link: inout Link, now: Instant
    ) -> Bool {
        guard session == account.session else { return false }
        timers.cancel(.accountPage)
        link.releaseAll(on: session)
        if Self.finalAccountCodes.contains(code) {
            refuseAccount(code, &link)
            return true
        }
        let attempts = account.endSession()
        requests.fail(of: ClientAccount.id, code, onlySent: true, &link, &outputs)
        outputs.append(.account(.interrupted))
        let next = now + (retryAfter ?? .zero) + delay(ofAttempt: attempts)
        if retryAfter != nil { account.opensFrom = next }
        timers.set(.account, at: next)
        return true
    }

    /// Adds a request that belongs to no room, and returns its number.
    ///
    /// - Throws: `messageTooLarge`, `tooManyRequests`, `queueFull`.
    mutating func accountRequest(
        _ method: MethodName, _ content: [UInt8]?, timeout: Duration, _ link: inout Link, now: Instant
    ) throws(ClientError) -> UInt64 {
        guard Self.fits(content?.count ?? 0, link.limits) else { throw .messageTooLarge }
        account.use(list: false)
        let number = try requests.add(
            method, content, to: nil, of: ClientAccount.id, on: account.session, expires: now + timeout, &link,
            &outputs,
            now: now)
        openAccount(&link, now: now)
        if let refusal = account.refusal {
            requests.fail(of: ClientAccount.id, refusal, onlySent: false, &link, &outputs)
        }
        return number
    }

    // MARK: Frames

    /// Processes a frame of the account's session.
    mutating func receiveFromAccount(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ credit: Int, _ link: inout Link,
        now: Instant
    ) throws(LinkError) {
        link.release(credit, on: session)
        try content.withBody { body throws(LinkError) in
            switch type {
            case .response: received(try Link.parse(Response.self, body), &link, now: now)
            case .update:
                guard let entry = try Link.parse(RoomUpdate.self, body).entry else {
                    return beginList(&link, now: now)
                }
                perform(account.list.take(entry), &link, now: now)
            case .request: Self.answer(try ReceivedRequest(parsing: body).declined, on: session, &link)
            case .cancel: break
            default: throw .peer(.protocolViolation)
            }
        }
    }

    private mutating func received(_ response: Response, _ link: inout Link, now: Instant) {
        guard response.correlation == account.pageRequest else {
            return requests.finish(response, &link, &outputs)
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
        perform(account.list.take(page), &link, now: now)
    }

    // MARK: The list

    /// Requests the list, unless it is known or requested.
    private mutating func requestList(_ link: inout Link, now: Instant) {
        guard account.usesList, account.isOpen, account.list.isIdle else { return }
        beginList(&link, now: now)
    }

    private mutating func beginList(_ link: inout Link, now: Instant) {
        guard account.usesList, account.isOpen else { return }
        account.isListOutdated = false
        request(account.list.begin(), &link, now: now)
    }

    private mutating func perform(_ step: ClientRoomList.Step, _ link: inout Link, now: Instant) {
        switch step {
        case .none: break
        case .request(let query): request(query, &link, now: now)
        case .listed(let entries): outputs.append(.account(.listed(entries)))
        case .changed(let entry): outputs.append(.account(.changed(entry)))
        }
    }

    private mutating func request(_ query: RoomListQuery, _ link: inout Link, now: Instant) {
        guard let session = account.session else { return }
        let number = requests.takeNumber()
        let request = Request(
            correlation: number, method: MembershipMethod.list, deadline: ClientAccount.pageTimeout, recipient: nil,
            sender: nil, content: query.content)
        let isQueued = link.send(.request, EncodedBody(request.encode()), on: session) == .queued
        account.pageRequest = isQueued ? number : nil
        timers.set(.accountPage, at: now + (isQueued ? ClientAccount.pageTimeout : .seconds(1)))
    }

    /// A page was not answered in time, or not with a page.
    mutating func pageTimedOut(_ link: inout Link, now: Instant) { beginList(&link, now: now) }
}
