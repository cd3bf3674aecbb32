import MartletLink
import MartletTransport
import MartletWire

/// The account's own session: the list of its rooms, and requests that belong to no room.
extension ClientDriver {
    /// A call that waits for the list.
    func listRooms(_ promise: Promise<[RoomSummary]>) {
        guard phase == .running else { return refuseList(promise, .stopped) }
        if let reason = life.status.value.phase.stopReason { return refuseList(promise, .gaveUp(reason)) }
        listPromises.append(promise)
        engine.useAccount(list: true, isCurrent: true, now: now)
        returnKnownList()
    }

    /// Returns the list to the calls that wait for it if it is current. A resumed link sends no new list.
    func returnKnownList() {
        guard engine.isListed, engine.status.isOnline, let list = life.rooms.list else { return }
        returnList(list)
    }

    private func returnList(_ list: [RoomSummary]) {
        for promise in listPromises { promise.resolve(.success(list)) }
        listPromises = []
    }

    func abandonList(_ promise: Promise<[RoomSummary]>) { listPromises.removeAll { $0 === promise } }

    /// An iteration over the changes of the list has begun.
    func watchRooms() {
        if phase == .running { engine.useAccount(list: true, now: now) }
    }

    func accountRequest(_ call: RequestCall) {
        if phase != .running {
            call.promise.resolve(.failure(MartletError.stopped))
        } else if let reason = life.status.value.phase.stopReason {
            call.promise.resolve(.failure(MartletError.gaveUp(reason)))
        } else {
            do throws(ClientError) {
                let number = try engine.accountRequest(
                    call.method, content: call.content, deadline: call.deadline, now: now)
                requests.add(number, in: nil, call.promise)
            } catch {
                call.promise.resolve(.failure(MartletError(error, call, in: nil, configuration)))
            }
        }
    }

    func handle(_ event: AccountEvent) {
        switch event {
        case .listed(let entries):
            let rooms = entries.compactMap { RoomSummary($0) }
            life.rooms.listed(rooms)
            returnList(rooms)
        case .changed(let entry): life.rooms.changed(entry.room, RoomSummary(entry))
        case .interrupted: break
        case .unavailable(let code): failLists(.answeredWithFailure(code))
        }
    }

    /// Fails the calls that wait for the list.
    func failLists(_ error: MartletError) {
        for promise in listPromises { refuseList(promise, error) }
        listPromises = []
    }

    private func refuseList(_ promise: Promise<[RoomSummary]>, _ error: MartletError) {
        promise.resolve(.failure(error))
    }
}
