import MartletLink
import MartletWire

/// Calls of the store about membership records, and requests on the sessions of accounts.
///
/// The engine requests none of them unless the store keeps membership records.
extension RelayDriver {
    func save(_ changes: MembershipChanges, of room: RoomName) {
        guard let store = parts.membershipStore else { return engine.membershipsSaved(room, refused: nil) }
        callStore(room) { _ in
            try await store.saveMemberships(changes, of: room)
        } then: { driver, refused in
            driver.engine.membershipsSaved(room, refused: refused.value)
        }
    }

    func readMemberships(_ id: MembershipReadID, _ read: MembershipRead) {
        guard let store = parts.membershipStore else { return engine.membershipsRead(id, nil, now: now) }
        storeCalls += 1
        loop.startTask { [parts, loop] in
            var entries: [StoredRoomEntry]?
            do {
                entries = try await store.memberships(of: id.account, read)
            } catch {
                parts.onEvent(.membershipsFailed(id.account, error))
            }
            loop.execute { [entries] in
                self.storeCalls -= 1
                self.engine.membershipsRead(id, entries, now: self.enter())
            }
        }
    }

    /// Passes a request without a room to the request handler.
    func answer(_ request: Request, for id: AccountRequestID) {
        guard let handler = parts.requestHandler, let sender = request.sender else {
            return engine.respond(to: id, Response(correlation: request.correlation, status: .unknownMethod))
        }
        guard requests < parts.configuration.maxRequests else {
            return engine.respond(to: id, Response(correlation: request.correlation, status: .serverBusy))
        }
        requests += 1
        let relayRequest = RelayRequest(
            room: nil, sender: sender, method: request.method, content: request.content, timeout: request.deadline)
        loop.startTask { [loop] in
            let answer = await handler.respond(to: relayRequest)
            loop.execute {
                self.requests -= 1
                self.enter()
                self.engine.respond(
                    to: id,
                    Response(
                        correlation: request.correlation, status: answer.status, reason: answer.reason,
                        content: answer.content))
            }
        }
    }
}
