import Martlet
import MartletToolSupport
import MartletWire
import Synchronization

/// The connection of a chat to its room: it reports events and sends texts. The terminal or a pipe is its user.
struct ChatSession: Sendable {
    let client: Client
    let room: Room
    /// The lines of this chat.
    let sentLines: SentLines
    /// A closure that receives all events to display.
    let show: @Sendable (ChatModel.Event) -> Void
    private let known = KnownMessages()
    /// The interval between two notices of the same delay.
    private static let noticeInterval = Duration.seconds(60)

    init(client: Client, room: Room, sentLines: SentLines, show: @escaping @Sendable (ChatModel.Event) -> Void) {
        self.client = client
        self.room = room
        self.sentLines = sentLines
        self.show = show
    }

    /// Reports messages, members, typing and the connection until it is cancelled or the room has ended.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await reportMessages() }
            group.addTask { await reportEvents() }
            group.addTask { await reportConnection() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Sends texts in order, and reports the state of each message with its key.
    func send(_ texts: AsyncStream<(key: Int, text: String)>) async {
        await withDiscardingTaskGroup { group in
            for await (key, text) in texts {
                do {
                    let number = sentLines.begin(text)
                    let sending = try await room.send(text)
                    sentLines.setMessage(number, as: sending)
                    record(sending, text)
                    show(.queued(key: key, sending.id))
                    group.addTask { await follow(sending, key: key) }
                } catch {
                    show(.marked(key: key, .failed("\(error)")))
                }
            }
            group.cancelAll()
        }
    }

    /// Records a sent message, to which changes of others can refer.
    func record(_ sending: MessageHandle, _ text: String) { known.add(sending.id, offset: nil, .text(text)) }

    /// Performs an operation on the room and reports its result.
    func perform(_ operation: RoomOperation) async {
        do {
            let answer = try await room.request(operation.method.rawValue, content: operation.content)
            if case .listRoles = operation {
                for line in try RoomRoster(parsing: answer.content ?? []).lines { show(.notice(line)) }
            } else {
                show(.notice("\(operation.method.rawValue.dropFirst(RoomMethod.prefix.count)): done"))
            }
        } catch {
            show(.notice("\(error)"))
        }
    }

    private func follow(_ sending: MessageHandle, key: Int) async {
        for await state in sending.states {
            if case .accepted(let offset) = state { known.add(sending.id, offset: offset, nil) }
            show(.marked(key: key, DeliveryMark(state)))
            if case .read = state { return }
        }
    }

    private func reportMessages() async throws {
        for try await item in room.items {
            switch item {
            case .message(let message):
                report(message)
                room.markRead(upTo: message.cursor)
            case .gap(let gap):
                show(.notice("Messages \(gap.lowerBound) to \(gap.upperBound) are no longer kept."))
            case .logReplaced(let previous, let current):
                guard current.offset < previous.offset else { continue }
                show(
                    .notice(
                        "The relay has lost the room's messages after \(current.offset). Its later messages follow."))
            }
        }
    }

    /// Reports a message. A change that does not count or has no effect is ignored (M-1, M-4, M-9, M-11).
    private func report(_ message: RoomMessage) {
        let body = try? message.body
        // The name of an edited message has the text before the edit.
        var edited: (id: MessageID, name: String)?
        if case .edit(let target, _)? = body { edited = (target.id, known.name(of: target.id)) }
        if message.kind.isChange {
            guard let body, let change = MessageChange(body, by: message.sender),
                known.apply(change, at: message.offset)
            else { return }
            if change.effect == .deletion { show(.deleted(change.target)) }
        } else {
            known.add(message.id, offset: message.offset, body)
        }
        let parts = MessageParts(message.content, body) { id in
            if let edited, edited.id == id { return edited.name }
            return known.name(of: id)
        }
        show(
            .received(
                sender: message.sender, label: parts.label, text: parts.text,
                clock: ClockText.minutes(message.acceptedAt), id: message.kind.isChange ? nil : message.id))
    }

    /// Returns the text of a line without its newline; nil if the content is not a text.
    static func text(of content: LineContent?) -> String? {
        switch content {
        case .text(let text)?: text
        case .bytes(let bytes)?:
            String(validating: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
        case nil: nil
        }
    }

    private func reportEvents() async {
        show(.members(room.members))
        var delay: (code: ErrorCode, time: ContinuousClock.Instant)?
        for await event in room.events {
            switch event {
            case .delayed(let code):
                if delay?.code == code, let time = delay?.time, .now - time < Self.noticeInterval { break }
                delay = (code, .now)
                show(.notice("\(code); retrying"))
            case .opened: show(.members(room.members))
            case .presence(let name, .left): show(.presence(name, nil))
            case .presence(let name, .online): show(.presence(name, .online))
            case .presence(let name, .away): show(.presence(name, .away))
            case .typing(let name, let isTyping): show(.typing(name, isTyping))
            case .missed: show(.members(room.members))
            case .delivered, .read, .gap, .logReplaced, .deviceReplaced, .transient: break
            }
        }
    }

    private func reportConnection() async {
        for await status in client.status {
            show(.connection(ChatModel.Health(status.phase), Self.text(of: status)))
        }
    }

    private static func text(of status: Client.Status) -> String {
        guard status.isOnline, let roundTrip = status.roundTrip else { return status.explanation }
        return "\(status.explanation), \(Quantity.text(roundTrip))"
    }
}

extension ChatModel.Health {
    /// Creates the state of the connection from a phase of the client.
    init(_ phase: Client.Status.Phase) {
        self =
            switch phase {
            case .online: .good
            case .idle, .connecting, .signingIn: .waiting
            case .waiting, .paused, .stopping, .stopped: .broken
            }
    }
}

extension DeliveryMark {
    /// Creates the mark of a message's state.
    init(_ state: MessageHandle.State) {
        self =
            switch state {
            case .queued: .queued
            case .sent: .sent
            case .accepted: .accepted
            case .delivered: .delivered
            case .read: .read
            case .failed(let failure): .failed("\(MartletError.notAccepted(failure))")
            }
    }
}
