import MartletLink
import MartletWire

/// The attachments of the room: sessions, requests and answers of the store.
extension RelayRoom {
    private typealias Waiter = AttachmentUpload.Waiter
    private typealias Operation = AttachmentUpload.Operation
    private typealias UploadKey = RoomAttachments.AttachmentUploadKey

    private func attachmentHandle(_ slot: Int) -> MemberHandle {
        var handle = relayHandle
        handle.slot = RoomAttachments.handleSlot(slot)
        handle.key = attachments[slot].key
        return handle
    }

    // MARK: Sessions

    /// A session of kind attachment that may enter. It is no member.
    mutating func joinAttachments(_ join: JoinRequest, into effects: inout Deque<RoomEffect>) {
        guard attachments.sessionCount < RoomMembers.maxCount else {
            return effects.append(.reset(join.member, .roomFull))
        }
        let slot = attachments.insert(AttachmentSession(join))
        effects.append(.opened(join.member, handle: attachmentHandle(slot), Opened(head: 0, first: 1)))
    }

    /// The session has ended; false if it is a member's.
    mutating func leaveAttachments(_ handle: MemberHandle) -> Bool {
        guard let slot = attachments.slot(handle) else { return false }
        attachments.remove(slot)
        releaseIdleAttachments()
        return true
    }

    /// The client has closed the session, which ends when its requests are answered; false if it is a member's.
    mutating func closeAttachments(_ handle: MemberHandle, into effects: inout Deque<RoomEffect>) -> Bool {
        guard let slot = attachments.slot(handle) else { return false }
        // A client that has forgotten the session never acknowledges the bytes for which these reads wait.
        for read in attachments[slot].takeWaiting() {
            let waiter = Waiter(session: handle, correlation: read.correlation, creditByteCount: 0)
            answer(waiter, .serverBusy, into: &effects)
        }
        attachments[slot].isClosing = true
        endIfAnswered(slot, into: &effects)
        releaseIdleAttachments()
        return true
    }

    private mutating func endIfAnswered(_ slot: Int, into effects: inout Deque<RoomEffect>) {
        guard attachments[slot].isClosing, attachments[slot].requestCount == 0 else { return }
        effects.append(.closed(attachments[slot].key))
        attachments.remove(slot)
    }

    /// Ends the sessions of accounts that may not enter any more, or those of one account.
    mutating func expelAttachments(
        of account: AccountName? = nil, _ code: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        guard usesAttachments else { return }
        for slot in attachments.slots {
            let session = attachments[slot]
            let isExpelled =
                account.map { $0 == session.who.account } ?? !mayEnter(
                    session.who.account, session.permissions)
            guard isExpelled else { continue }
            effects.append(.reset(session.key, code))
            attachments.remove(slot)
        }
        releaseIdleAttachments()
    }

    /// Ends all sessions.
    mutating func resetAttachments(_ code: ErrorCode, into effects: inout Deque<RoomEffect>) {
        guard usesAttachments else { return }
        for slot in attachments.slots {
            effects.append(.reset(attachments[slot].key, code))
            attachments.remove(slot)
        }
        releaseIdleAttachments()
    }

    /// Ends all sessions of a room that leaves the memory. The credit of their requests is released, because the
    /// answers of the store find no room (S-38).
    mutating func discardAttachments(_ code: ErrorCode, into effects: inout Deque<RoomEffect>) {
        guard usesAttachments else { return }
        for waiter in attachments.takeWaiters() where waiter.creditByteCount > 0 {
            effects.append(.release(waiter.session.key, byteCount: waiter.creditByteCount))
        }
        resetAttachments(code, into: &effects)
    }

    /// The link lost its connection, or has one again; false if the session is a member's.
    mutating func setAttachmentsAway(
        _ isAway: Bool, _ handle: MemberHandle, into effects: inout Deque<RoomEffect>
    ) -> Bool {
        guard let slot = attachments.slot(handle) else { return false }
        attachments[slot].isAway = isAway
        startReads(slot, into: &effects)
        return true
    }

    /// The session has room for more bytes.
    mutating func creditAttachments(_ handle: MemberHandle, byteCount: Int, into effects: inout Deque<RoomEffect>) {
        guard let slot = attachments.slot(handle) else { return }
        attachments[slot].credit(byteCount: byteCount)
        startReads(slot, into: &effects)
    }

    // MARK: Requests

    /// A request of a session. Its credit is released with the answer, so that bytes on their way to the store count
    /// against the window (R-109, Specs/hostile.md row 85).
    mutating func requestAttachment(
        _ handle: MemberHandle, _ correlation: UInt64, _ request: AttachmentRequest, creditByteCount: Int,
        at now: UInt64, into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = attachments.slot(handle) else {
            return effects.append(.release(handle.key, byteCount: creditByteCount))
        }
        let waiter = Waiter(session: handle, correlation: correlation, creditByteCount: creditByteCount)
        guard !attachments[slot].isFull else {
            attachments[slot].requestCount += 1
            return refuse(waiter, .tooManyRequests, after: AttachmentSession.retryAfter, into: &effects)
        }
        attachments[slot].requestCount += 1
        switch request {
        case .begin, .write, .remove:
            guard mayUpload(slot, at: now) else { return answer(waiter, .forbidden, into: &effects) }
        case .read, .info: break
        }
        switch request {
        case .begin(let digest, let byteCount, let mediaType):
            let operation = Operation.begin(byteCount: byteCount, mediaType: mediaType)
            perform(operation, attachments.key(digest, of: slot), waiter, into: &effects)
        case .write(let digest, let position, let bytes):
            let operation = Operation.write(bytes, position: position)
            perform(operation, attachments.key(digest, of: slot), waiter, into: &effects)
        case .read(let digest, let position, let length):
            attachments[slot].append(
                AttachmentSession.Read(
                    correlation: correlation, digest: digest, position: position, length: length))
            effects.append(.release(handle.key, byteCount: creditByteCount))
            startReads(slot, into: &effects)
        case .info(let digest):
            effects.append(.release(handle.key, byteCount: creditByteCount))
            call(.info(name, digest), .info(correlation: correlation), for: handle, into: &effects)
        case .remove(let digest): perform(.remove, attachments.key(digest, of: slot), waiter, into: &effects)
        }
    }

    /// The session no longer needs an answer. Only a read that waits ends (S-56).
    mutating func cancelAttachment(_ handle: MemberHandle, _ correlation: UInt64) {
        guard let slot = attachments.slot(handle), attachments[slot].cancel(correlation) else { return }
        attachments[slot].requestCount -= 1
    }

    private func mayUpload(_ slot: Int, at now: UInt64) -> Bool {
        guard usesRoles, let roles = moderation.roles else { return true }
        return roles.mayPublish(attachments[slot].who.account, attachments[slot].permissions, at: now)
    }

    // MARK: Operations on uploads

    /// Performs an operation, or keeps it until the operations before it have ended.
    private mutating func perform(
        _ operation: Operation, _ key: UploadKey, _ waiter: Waiter, into effects: inout Deque<RoomEffect>
    ) {
        guard attachments[key]?.hold(operation, waiter) != true else { return }
        apply(operation, key, waiter, into: &effects)
    }

    private mutating func apply(
        _ operation: Operation, _ key: UploadKey, _ waiter: Waiter, into effects: inout Deque<RoomEffect>
    ) {
        switch operation {
        case .begin(let byteCount, let mediaType): begin(key, byteCount, mediaType, waiter, into: &effects)
        case .write(let bytes, let position): write(bytes, at: position, key, waiter, into: &effects)
        case .remove: remove(key, waiter, into: &effects)
        }
    }

    private mutating func begin(
        _ key: UploadKey, _ byteCount: UInt64, _ mediaType: String?, _ waiter: Waiter,
        into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = attachments.slot(waiter.session) else {
            return answer(waiter, .unknownAttachment, into: &effects)
        }
        let isNew = !attachments[slot].begun.contains(key.digest)
        if isNew, attachments[slot].begun.count >= AttachmentSession.maxUploadCount {
            attachments.releaseComplete(slot)
        }
        guard !isNew || attachments[slot].begun.count < AttachmentSession.maxUploadCount else {
            return refuse(waiter, .tooManyRequests, after: AttachmentSession.retryAfter, into: &effects)
        }
        let known = attachments[key]
        var upload = known ?? AttachmentUpload(byteCount: byteCount)
        guard upload.byteCount == byteCount else { return answer(waiter, .wrongPosition, into: &effects) }
        if isNew {
            attachments[slot].begun.insert(key.digest)
            upload.sessionCount += 1
        }
        let completionCount = attachments.completionCount
        let isKnown = known.map { !$0.isStale(completionCount) } ?? false
        if !isKnown { upload.reopen(completionCount) }
        let isAnswered = upload.begin(waiter)
        attachments[key] = upload
        if isAnswered { return answer(waiter, upload, into: &effects) }
        let stored = AttachmentKey(room: name, account: key.account, digest: key.digest)
        call(
            .begin(stored, byteCount: byteCount, mediaType: mediaType), .begin(key), for: waiter.session,
            into: &effects)
    }

    private mutating func write(
        _ bytes: [UInt8], at position: UInt64, _ key: UploadKey, _ waiter: Waiter,
        into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = attachments.slot(waiter.session), attachments[slot].begun.contains(key.digest),
            var upload = attachments[key]
        else { return answer(waiter, .unknownAttachment, into: &effects) }
        let result = upload.write(bytes, at: position, waiter)
        attachments[key] = upload
        switch result {
        case .stored: answer(waiter, upload, into: &effects)
        case .wrongPosition: answer(waiter, .wrongPosition, into: &effects)
        case .waits: startWrite(key, for: waiter.session, into: &effects)
        }
    }

    private mutating func startWrite(
        _ key: UploadKey, for session: MemberHandle, into effects: inout Deque<RoomEffect>
    ) {
        guard let next = attachments[key]?.nextWrite() else { return }
        let stored = AttachmentKey(room: name, account: key.account, digest: key.digest)
        call(.write(stored, position: next.position, next.chunks), .write(key), for: session, into: &effects)
    }

    /// Discards an upload, which has no call in progress.
    private mutating func remove(_ key: UploadKey, _ waiter: Waiter, into effects: inout Deque<RoomEffect>) {
        // A complete upload has become an attachment, which is not removed.
        guard attachments[key]?.isComplete != true else { return answer(waiter, .none, into: &effects) }
        var ended = attachments.end(key)
        // Later operations wait, because the store may perform its calls for an upload in any order.
        attachments[key] = AttachmentUpload(removingBefore: ended?.takeHeld() ?? Deque())
        let stored = AttachmentKey(room: name, account: key.account, digest: key.digest)
        call(.remove(stored), .remove(key, waiter), for: waiter.session, into: &effects)
    }

    /// Ends an upload, answers its requests with the failure, and performs the operations that waited.
    private mutating func end(
        _ key: UploadKey, _ failure: AttachmentFailure = .unknown, into effects: inout Deque<RoomEffect>
    ) {
        guard var ended = attachments.end(key) else { return }
        for waiter in ended.unanswered { answer(waiter, .failed(failure), into: &effects) }
        for held in ended.takeHeld() { perform(held.operation, key, held.waiter, into: &effects) }
    }

    private mutating func startReads(_ slot: Int, into effects: inout Deque<RoomEffect>) {
        while let read = attachments[slot].nextRead() {
            call(
                .read(name, read.digest, position: read.position, length: read.length),
                .read(correlation: read.correlation, length: read.length), for: attachmentHandle(slot), into: &effects)
        }
    }

    private mutating func call(
        _ call: AttachmentCall, _ purpose: RoomAttachments.Purpose, for session: MemberHandle,
        into effects: inout Deque<RoomEffect>
    ) {
        effects.append(.attachment(attachments.begin(purpose, for: session), call))
    }

    // MARK: Answers of the store

    /// The result of a call.
    mutating func attachmentAnswered(
        _ id: AttachmentCallID, _ result: AttachmentResult, into effects: inout Deque<RoomEffect>
    ) {
        guard let purpose = attachments.take(id) else { return }
        switch purpose {
        case .begin(let key), .write(let key):
            answered(key, result, for: id.session, into: &effects)
        case .read(let correlation, let length):
            if let slot = attachments.slot(id.session) {
                attachments[slot].endRead(length: length)
                answer(
                    Waiter(session: id.session, correlation: correlation, creditByteCount: 0), result, into: &effects)
                // The last answer ends a closing session.
                if attachments.slot(id.session) != nil { startReads(slot, into: &effects) }
            }
        case .info(let correlation):
            answer(Waiter(session: id.session, correlation: correlation, creditByteCount: 0), result, into: &effects)
        case .remove(let key, let waiter):
            answer(waiter, result, into: &effects)
            end(key, into: &effects)
        }
        releaseIdleAttachments()
    }

    private mutating func answered(
        _ key: UploadKey, _ result: AttachmentResult, for session: MemberHandle,
        into effects: inout Deque<RoomEffect>
    ) {
        guard var upload = attachments[key] else { return }
        guard case .done(.position(let position, let byteCount)) = result, byteCount == upload.byteCount,
            position <= byteCount
        else {
            var failure = AttachmentFailure.unavailable
            if case .failed(let reason) = result { failure = reason }
            return end(key, failure, into: &effects)
        }
        let waiters = upload.isOpening ? upload.opened(at: position) : upload.stored(upTo: position)
        attachments[key] = upload
        if upload.isComplete { attachments.noteCompletion() }
        for waiter in waiters { answer(waiter, upload, into: &effects) }
        startWrite(key, for: session, into: &effects)
        while let next = attachments[key]?.nextHeld() { apply(next.operation, key, next.waiter, into: &effects) }
        attachments.removeIfUnused(key)
    }

    private mutating func answer(
        _ waiter: Waiter, _ upload: AttachmentUpload, into effects: inout Deque<RoomEffect>
    ) {
        answer(waiter, .done(.position(upload.position, byteCount: upload.byteCount)), into: &effects)
    }

    private mutating func answer(
        _ waiter: Waiter, _ status: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        refuse(waiter, status, after: nil, into: &effects)
    }

    private mutating func refuse(
        _ waiter: Waiter, _ status: ErrorCode, after wait: Duration?, into effects: inout Deque<RoomEffect>
    ) {
        answer(waiter, Response(correlation: waiter.correlation, status: status, retryAfter: wait), into: &effects)
    }

    private mutating func answer(
        _ waiter: Waiter, _ result: AttachmentResult, into effects: inout Deque<RoomEffect>
    ) {
        switch result {
        case .done(let response):
            answer(waiter, Response(correlation: waiter.correlation, content: response.content), into: &effects)
        case .failed(let failure): refuse(waiter, failure.status, after: failure.retryAfter, into: &effects)
        }
    }

    private mutating func answer(_ waiter: Waiter, _ response: Response, into effects: inout Deque<RoomEffect>) {
        // The credit of the link is released although the session has ended.
        if waiter.creditByteCount > 0 {
            effects.append(.release(waiter.session.key, byteCount: waiter.creditByteCount))
        }
        guard let slot = attachments.slot(waiter.session) else { return }
        let body = EncodedBody(response.encode())
        attachments[slot].requestCount -= 1
        attachments[slot].sent(byteCount: body.byteCount)
        effects.append(.send(waiter.session.key, .response, body))
        endIfAnswered(slot, into: &effects)
    }
}
