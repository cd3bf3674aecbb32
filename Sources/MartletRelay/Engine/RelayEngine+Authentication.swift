package import MartletLink
import MartletWire

/// Authentication: the authenticator's answers, exchanges before welcome, and renewals of credentials after it.
extension RelayEngine {
    /// The result of `.authenticate` or `.continueExchange`.
    package mutating func authenticated(_ key: ConnectionKey, _ answer: AuthenticationAnswer, now: Instant) {
        noteEvent()
        guard let slot = connections.slot(key) else { return }
        if renewals.remove(key) != nil { return renewed(slot, answer, now: now) }
        guard connections[slot].phase == .authenticating, let entry = connections[slot].entry, let hello = entry.hello
        else { return }
        switch answer {
        case .challenge(let message):
            challenge(slot, entry, with: message, now: now)
        case .refused(let notice, let cause):
            refuse(slot, hello.account, notice, cause, now: now)
        case .accepted(let identity, let grant, let presented, let final):
            entry.hello = nil
            let admission = Admission(
                hello: hello, identity: identity, grant: grant, presented: presented, final: final)
            let place = sessions.rooms.place
            guard place.loop(of: identity.account) == place.index else {
                entry.admission = admission
                return outputs.append(.transfer(key, loop: place.loop(of: identity.account)))
            }
            finishHandshake(slot, entry, admission, now: now)
        }
    }

    private mutating func refuse(
        _ slot: Int, _ account: AccountName, _ notice: Notice, _ cause: String?, now: Instant
    ) {
        note(.refused(account, notice.code, cause: cause), on: slot)
        end(slot, with: .reject, notice, now: now)
    }

    // MARK: Exchange

    /// Sends a message of the exchange, and reads the input for the answer. An authenticator without an end, or with
    /// messages too long for an unauthenticated peer, refuses the peer (C-69, Specs/hostile.md row 55).
    private mutating func challenge(_ slot: Int, _ entry: ConnectionEntry, with message: Credential, now: Instant) {
        let body = Auth(credential: message).encode()
        guard entry.challengeCount < RelayConnection.maxChallengeCount, entry.maySend(bodyByteCount: body.count) else {
            guard let account = entry.hello?.account else { return }
            return refuse(
                slot, account, Notice(code: .unauthenticated), "the exchange has too many or too long messages",
                now: now)
        }
        let held = connections[slot].challenge()
        enqueue(.auth, body, on: slot, now: now)
        outputs.append(.resumeReading(connections.key(slot)))
        sessions.budget.restart(connections.key(slot))
        if !held.isEmpty { read(held.rawBytes, on: slot, now: now) }
    }

    /// Receives a frame of a challenged peer. Early frames may precede the auth frame; they are kept until welcome
    /// (C-18, C-69). A message that is too long fails the exchange like a wrong one (Specs/hostile.md row 55).
    mutating func receiveAnswer(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int, now: Instant
    ) throws(LinkError) -> FramerStep {
        guard header.type == .auth else {
            if try endsExchange(header, content, on: slot, now: now) { return .stop }
            sessions.budget.charge(frameOf: content.byteCount)
            let byteCount = FrameHeader.byteCount + content.byteCount
            guard let entry = connections[slot].entry,
                entry.held.count + byteCount <= RelayConnection.maxHeldByteCount
            else { throw .peer(.protocolViolation) }
            content.withBody { entry.held += header.frame(body: $0) }
            return sessions.budget.isSpent ? .stop : .proceed
        }
        guard header.compression == .none else { throw .peer(.compressionNotAllowed) }
        guard header.type.rule?.allows(header) == true else { throw .peer(.protocolViolation) }
        let auth = try content.withBody { body throws(LinkError) -> Auth? in
            do throws(WireError) { return try Auth(parsing: body) } catch {
                guard case .invalidValue(.credential) = error else { throw .peer(error.code) }
                return nil
            }
        }
        guard let auth else {
            if let account = connections[slot].entry?.hello?.account {
                refuse(
                    slot, account, Notice(code: .unauthenticated), "a message of the exchange is too long", now: now)
            }
            return .stop
        }
        guard let message = auth.credential else { throw .peer(.protocolViolation) }
        connections[slot].takeAnswer()
        outputs.append(.pauseReading(connections.key(slot)))  // C-9
        outputs.append(.continueExchange(connections.key(slot), message))
        return .stop
    }

    /// Ends the connection of a challenged peer that leaves, or sends a frame that no link accepts. Such a frame is not
    /// kept until welcome, so that the connection does not occupy its place until then (C-69).
    private mutating func endsExchange(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int, now: Instant
    ) throws(LinkError) -> Bool {
        switch header.type {
        case .goaway:
            guard header.type.rule?.allows(header) == true else { throw .peer(.protocolViolation) }
            _ = try content.withBody { body throws(LinkError) in try Link.parse(GoAway.self, body) }
            end(slot, afterFlush: true, now: now)
            return true
        case .hello where connections[slot].carrier == .reliable: throw .peer(.protocolViolation)
        case let type where type.isCritical && type.rule == nil: throw .peer(.unknownCritical)
        default: return false
        }
    }

    // MARK: Renewal

    /// Asks the authenticator about another credential of an established connection, whose credential expires. Only one
    /// can be asked about at a time (C-71, Specs/hostile.md row 56).
    mutating func renew(_ slot: Int, _ link: Int, with credential: Credential) throws(LinkError) {
        let key = connections.key(slot)
        guard connections.hasCredentialExpiry(slot), renewals.insert(key).inserted else {
            throw .peer(.protocolViolation)
        }
        let who = sessions.links[link].who
        let request = AuthenticationRequest(account: who.account, device: who.device, credential: credential)
        outputs.append(.authenticate(key, request))
    }

    /// The credential has to be of the same account. Otherwise the connection ends as if the earlier one had expired. A
    /// relay without the time to decide leaves it the earlier one.
    private mutating func renewed(_ slot: Int, _ answer: AuthenticationAnswer, now: Instant) {
        guard let link = connections[slot].linkSlot else { return }
        let account = sessions.links[link].who.account
        guard case .accepted(let identity, _, _, _) = answer, identity.account == account else {
            var notice = Notice(code: .unauthenticated)
            var cause: String? = "the credential is for another account"
            if case .refused(let refusal, let its) = answer { (notice, cause) = (refusal, its) }
            note(.refused(account, notice.code, cause: cause), on: slot)
            if notice.code == .serverBusy { return }
            return end(slot, with: .goaway, notice, now: now)
        }
        sessions.setClaims(identity.claims, of: link, now: now)
        let lifetime = setExpiry(of: identity, on: slot, now: now)
        enqueue(.auth, Auth(credentialLifetime: lifetime).encode(), on: slot, now: now)
    }

    // MARK: Expiry

    /// Sets the instant at which the credential of a connection expires. Returns the duration until then; nil if it
    /// does not expire.
    mutating func setExpiry(of identity: Identity, on slot: Int, now: Instant) -> Duration? {
        let lifetime = identity.expiresAt.map { expiresAt in
            let rest = Duration.milliseconds(Int64(clamping: expiresAt) - Int64(clamping: wallClock))
            return min(max(rest, .zero), .seconds(1 << 30))
        }
        connections.setCredentialExpiry(slot, at: lifetime.map { now + $0 })
        return lifetime
    }

    /// Ends connections whose credentials have expired. The clients continue their links with other credentials (C-66).
    mutating func expireCredentials(now: Instant) {
        while let slot = connections.popExpiredCredential(now: now) {
            if let link = connections[slot].linkSlot {
                let account = sessions.links[link].who.account
                note(.refused(account, .unauthenticated, cause: "the credential has expired"), on: slot)
            }
            end(slot, with: .goaway, Notice(code: .unauthenticated), now: now)
        }
    }
}
