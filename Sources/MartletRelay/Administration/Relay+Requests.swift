import MartletLink
import MartletWire

/// Requests for the administration of the relay, which the room policy has permitted.
extension Relay {
    /// Performs a request, and returns the response.
    func answer(_ request: Request) async -> RequestAnswer {
        guard let method = AdministrationMethod(request.method) else { return RequestAnswer(status: .unknownMethod) }
        do {
            let content = request.content ?? []
            let query = try AdministrationQuery(parsing: content.rawBytes)
            return try RequestAnswer(content: try await perform(method, query))
        } catch let error as WireError {
            return RequestAnswer(status: error.operationStatus)
        } catch let error as RoomCommandError {
            return RequestAnswer(status: error.status, reason: "\(error)")
        } catch {
            return RequestAnswer(status: .storeUnavailable)
        }
    }

    private func perform(_ method: AdministrationMethod, _ query: AdministrationQuery) async throws -> [UInt8]? {
        let place: RelayPlace? =
            if query.next == nil, query.nextRoom == nil { nil } else {
                RelayPlace(rawValue: query.next ?? 0, room: query.nextRoom)
            }
        let limit = Int(query.limit ?? .max)
        func room() throws -> RoomName { try query.room.required(.room) }
        func account() throws -> AccountName { try query.account.required(.account) }
        switch method {
        case .status: return await overview.encode()
        case .links: return await links(from: place, limit: limit).content
        case .accounts: return await accounts(from: place, limit: limit).content
        case .rooms: return try await rooms(from: place, limit: limit).content
        case .room: return try await overview(of: try room()).encode()
        case .kick:
            let account = try account()
            if let room = query.room { try await remove(account, from: room) } else { await kick(account) }
        case .ban: try await ban(try account(), in: try room())
        case .unban: try await unban(try account(), in: try room())
        case .mute:
            let (room, account, duration) = (try room(), try account(), try query.duration.required(.duration))
            guard duration >= .seconds(1) else { throw WireError.invalidValue(.duration) }
            try await mute(account, seconds: UInt32(clamping: duration.components.seconds), in: room)
        case .unmute: try await unmute(try account(), in: try room())
        case .revoke: await revoke(try account())
        case .announce:
            let text = try query.text.required(.text)
            guard !text.isEmpty else { throw WireError.invalidValue(.text) }
            let content = MessageContent(text: text)
            guard let room = query.room else { return try await announce(content, from: place).content }
            try await publish(content, in: room)
            return RelayStep(count: 1, next: nil).content
        // The driver drains this relay after the response.
        case .drain:
            if let name = query.name, await !drain(relay: name) { throw RoomCommandError.refused(.refused) }
        case .relays: return await relays(from: place, limit: limit).content
        case .erase:
            let account = try account()
            guard let room = query.room else { return try await eraseMessages(of: account, from: place).content }
            return try await eraseMessages(of: account, in: room, from: place).content
        case .retention: try await setRetention(try query.retention, of: try room())
        case .export:
            let page = try await messages(of: try room(), from: place, limit: limit)
            let bodies = page.items.map { [UInt8](copying: $0.body.rawBytes) }
            return AdministrationPage(messages: bodies, next: page.next?.rawValue).encode()
        }
        return nil
    }
}

extension Relay {
    /// A page of the relays of the bus. The value of a place is an index.
    fileprivate func relays(from place: RelayPlace?, limit: Int) async -> RelayPage<PeerRelay> {
        let all = await relays()
        let limit = min(max(limit, 1), AdministrationPage.maxItemCount)
        let first = Int(clamping: place?.rawValue ?? 0)
        let items = Array(all.dropFirst(first).prefix(limit))
        let next = first < all.count ? first + items.count : all.count
        return RelayPage(items: items, next: next < all.count ? RelayPlace(rawValue: UInt64(next)) : nil)
    }
}

extension Request {
    /// Whether the request drains the relay that answers it.
    var isDrain: Bool {
        guard AdministrationMethod(method) == .drain else { return false }
        let content = content ?? []
        return (try? AdministrationQuery(parsing: content.rawBytes))?.name == nil
    }
}

extension RelayPage where Item: FieldList {
    fileprivate var content: [UInt8] {
        AdministrationPage(items: items.map { $0.encode() }, next: next?.wireValue, nextRoom: next?.room).encode()
    }
}

extension RelayStep {
    fileprivate var content: [UInt8] {
        AdministrationPage(count: UInt32(clamping: count), next: next?.wireValue, nextRoom: next?.room).encode()
    }
}

extension RelayPlace {
    /// The value of the field `next`; nil if the room alone is the place.
    fileprivate var wireValue: UInt64? { room == nil || rawValue > 0 ? rawValue : nil }
}

extension AdministrationQuery {
    /// The bounds of a room, of which none is 0.
    fileprivate var retention: RoomRetention {
        get throws(WireError) {
            guard maxAge != 0 else { throw .invalidValue(.maxAge) }
            guard maxCount != 0 else { throw .invalidValue(.maxCount) }
            guard maxByteCount != 0 else { throw .invalidValue(.maxByteCount) }
            return RoomRetention(maxAge: maxAge, maxCount: maxCount, maxByteCount: maxByteCount)
        }
    }
}

extension RoomCommandError {
    /// The status of the response to a request for a command.
    fileprivate var status: ErrorCode {
        switch self {
        case .noServerAccount, .roomNotCreated: .refused
        case .noRoles, .unsupported: .unknownMethod
        case .messageTooLarge: .messageTooLarge
        case .notRunning, .busy: .serverBusy
        case .storeUnavailable: .storeUnavailable
        case .refused(let code): code
        }
    }
}
