public import Martlet
import MartletLink
import MartletTransport
public import MartletWire

/// A message of this device that the relay has not accepted.
public struct UnsentMessage: Sendable, Equatable, Identifiable {
    /// The ID of the message.
    public let id: MessageID
    /// The name of the room.
    public let room: RoomName
    /// The content of the message, which can be a change of another message.
    public let content: MessageContent
    /// The reason for the failure; nil if the message is being sent.
    public let failure: SendFailure?
}

/// A room that a ``TimelineSync`` keeps in a timeline.
///
/// The outbox determines the state of a message without an outcome, and the log that of an accepted message. The
/// timeline shows both, and is synchronized when the room is opened:
///
/// | outbox | timeline | becomes |
/// |---|---|---|
/// | unsettled | any, or missing | pending, with the content of the outbox |
/// | accepted | pending | accepted at its offset; the log corrects place and content |
/// | failed, a dead letter | pending, or missing | failed, with the reason |
/// | failed, a dead letter | accepted | accepted; the dead letter is removed |
/// | unknown | pending | failed with `outcomeUnknown`, unless the log has the message |
/// | unknown | failed | failed; a retry sends its content |
/// | dead letter, or unknown | retrying | sent again, or removed because the retry was stored |
/// | unsettled, dead letter, or unknown | removing | cancelled, discarded, removed |
///
/// Commands take effect in the order of the calls. Methods that send throw the errors of
/// `Room.send(_:)`, and `changeNotAllowed` for a change that would have no effect; the message is
/// then not queued. If the outbox has stored the message and the timeline cannot be written, the method returns, and
/// ``TimelineSync/run()`` throws `DatabaseError` (C-108).
public final class SyncedRoom: Sendable {
    struct State {
        /// The messages whose outcomes the timeline does not have.
        var unsettled: Set<MessageID> = []
        var letters: [DeadLetter] = []
        /// The messages that a command currently sends again or removes.
        var claimed: Set<MessageID> = []
        /// Changes of messages in the outbox that could not be written to the timeline, for the next transaction. They
        /// are bounded like the messages: one for each command after an error, which ends `run`.
        var unwritten: [OutgoingStep] = []
        /// The read mark of the user's other devices, until the timeline knows its log.
        var readMark: RoomCursor?
    }

    /// The maximum number of items that are applied in one transaction.
    static let maxBatchCount = 512

    /// The room of the client, for snapshots, requests and moderation. Do not iterate over its messages.
    public let room: Room
    package let timeline: Timeline
    package let client: Client
    let isModerator: @Sendable (AccountName) -> Bool
    let state = Guarded(State())
    private let order: CallOrder<RoomName>

    init(
        _ room: Room, _ timeline: Timeline, _ client: Client, _ order: CallOrder<RoomName>,
        isModerator: @escaping @Sendable (AccountName) -> Bool
    ) {
        self.order = order
        self.room = room
        self.timeline = timeline
        self.client = client
        self.isModerator = isModerator
    }

    /// The name of the room.
    public var name: RoomName { room.name }

    /// The messages of this device without an acceptance, changes included: those that are being sent, then those that
    /// have failed.
    public var unsent: [UnsentMessage] {
        let pending = room.pending.compactMap { handle in
            handle.content.map { UnsentMessage(id: handle.id, room: name, content: $0, failure: nil) }
        }
        return pending
            + state.withLock { $0.letters }.map {
                UnsentMessage(id: $0.id, room: name, content: $0.content, failure: $0.failure)
            }
    }

    nonisolated(nonsending) func perform(_ steps: [OutgoingStep]) async throws {
        let unwritten = state.withLock { state in
            defer { state.unwritten = [] }
            return state.unwritten
        }
        do { try await timeline.perform(unwritten + steps, in: name, isModerator: isModerator) } catch {
            state.withLock { $0.unwritten = unwritten + $0.unwritten }
            throw error
        }
    }

    /// Writes changes of which the outbox has its part. After an error the next transaction contains them.
    nonisolated(nonsending) private func write(_ steps: [OutgoingStep]) async {
        do { try await perform(steps) } catch { state.withLock { $0.unwritten += steps } }
    }

    // MARK: Commands

    /// Sends a text.
    @discardableResult
    nonisolated(nonsending) public func send(_ text: String) async throws -> MessageID {
        try await send(try OutgoingMessage(text: text))
    }

    /// Sends a message. A change takes effect in the timeline at once, and its failure restores the earlier state.
    ///
    /// The method waits while the room has as many unaccepted messages as the configuration permits.
    ///
    /// - Returns: The ID of the message, under which the timeline has its entry.
    @discardableResult
    nonisolated(nonsending) public func send(_ message: OutgoingMessage) async throws -> MessageID {
        try await send(message, in: turn)
    }

    /// Refuses a change that would have no effect (M-4, M-9).
    nonisolated(nonsending) private func checkRights(_ content: MessageContent) async throws {
        guard content.kind == .edit || content.kind == .delete, let body = try? MessageBody(content) else { return }
        guard let change = MessageChange(body, by: timeline.account, isModerator: isModerator(timeline.account)) else {
            throw MartletError.changeNotAllowed("it is of another account")
        }
        guard content.kind == .edit, let entry = try await timeline.entry(change.target, in: name) else { return }
        guard case .message(let target) = entry.content, target.isEditable else {
            throw MartletError.changeNotAllowed("it has no text that can be edited")
        }
    }

    /// Sends a text in reply to a message.
    @discardableResult
    nonisolated(nonsending) public func reply(to target: MessageReference, text: String) async throws -> MessageID {
        try await send(.reply(to: target, text: text))
    }

    /// Sends a reaction, or removes the reaction of this account.
    nonisolated(nonsending) public func react(
        _ reaction: String, to target: MessageReference, isRemoved: Bool = false
    ) async throws {
        try await send(.reaction(reaction, to: target, isRemoved: isRemoved))
    }

    /// Replaces the text of a message of this account: in place if it was not sent yet, otherwise by an edit.
    nonisolated(nonsending) public func edit(_ target: MessageReference, text: String) async throws {
        try await edit(target, text: text, in: turn)
    }

    /// Deletes a message: one without an acceptance is cancelled or discarded, an accepted one is deleted for all
    /// members.
    nonisolated(nonsending) public func delete(_ target: MessageReference) async throws {
        try await delete(target, in: turn)
    }

    /// Cancels a message that was not sent yet, or discards one that has failed.
    ///
    /// - Returns: Whether the message was removed. It is false if it was accepted or may have been sent, or if another
    ///   call sends it again or removes it.
    @discardableResult
    nonisolated(nonsending) public func discard(_ id: MessageID) async throws -> Bool {
        try await discard(id, in: turn)
    }

    /// Sends a failed message again, under another ID and in the same entry. One transaction of the outbox replaces the
    /// dead letter (C-77). A message without a dead letter in the outbox is sent as a new one.
    ///
    /// - Returns: The new ID; nil if the message has not failed, or if another call sends it again or removes it.
    @discardableResult
    nonisolated(nonsending) public func retry(_ id: MessageID) async throws -> MessageID? {
        try await retry(id, in: turn)
    }

    // MARK: Commands with a place

    /// The place of a command, which its method takes before it suspends.
    private var turn: CommandTurn { order.enter(name) }

    /// The turn ends when the message has its place among those of the room; it is nil for a command of an earlier
    /// process, before all others.
    @discardableResult
    nonisolated(nonsending) package func send(
        _ message: OutgoingMessage, in turn: CommandTurn?
    ) async throws -> MessageID {
        defer { turn?.end() }
        try await turn?.begin()
        return try await sendNext(message, turn)
    }

    nonisolated(nonsending) private func sendNext(
        _ message: OutgoingMessage, _ turn: CommandTurn?
    ) async throws -> MessageID {
        try await checkRights(message.content)
        let id = try await room.send(message, whenQueued: { turn?.end() }).id
        await show([.add(id, message.content)], of: id)
        return id
    }

    nonisolated(nonsending) package func edit(
        _ target: MessageReference, text: String, in turn: CommandTurn
    ) async throws {
        defer { turn.end() }
        try await turn.begin()
        if let handle = room.message(target.id), let content = handle.content,
            let body = try? MessageBody(content), body.isEditable, !text.isEmpty,
            let edited = try? body.edited(text).content, try await handle.edit(edited)
        {
            return await show([.add(target.id, edited)], of: target.id)
        }
        _ = try await sendNext(.edit(of: target, text: text), turn)
    }

    nonisolated(nonsending) package func delete(_ target: MessageReference, in turn: CommandTurn) async throws {
        defer { turn.end() }
        try await turn.begin()
        if let entry = try await timeline.entry(target.id, in: name), entry.state != .accepted,
            try await discardClaimed(target.id)
        {
            return
        }
        _ = try await sendNext(.delete(target), turn)
    }

    nonisolated(nonsending) package func discard(_ id: MessageID, in turn: CommandTurn) async throws -> Bool {
        defer { turn.end() }
        try await turn.begin()
        return try await discardClaimed(id)
    }

    nonisolated(nonsending) private func discardClaimed(_ id: MessageID) async throws -> Bool {
        guard claim(id) else { return false }
        defer { unclaim(id) }
        try await perform([.mark(id, .removal)])
        return try await remove(id)
    }

    @discardableResult
    nonisolated(nonsending) package func retry(_ id: MessageID, in turn: CommandTurn) async throws -> MessageID? {
        defer { turn.end() }
        guard claim(id) else { return nil }
        defer { unclaim(id) }
        try await turn.begin()
        if let letter = try await readLetters().first(where: { $0.id == id }) {
            try await perform([.mark(id, .retry)])
            return try await retry(letter, turn)
        }
        guard let entry = try await timeline.entry(id, in: name), case .failed = entry.state,
            case .message(let body) = entry.content
        else { return nil }
        let message = try OutgoingMessage(body: body)
        let new = try await room.send(message, whenQueued: { turn.end() }).id
        await show([.replace(id, by: new, message.content)], of: new)
        return new
    }

    /// Claims a message for a retry or removal, before the call suspends. Otherwise two calls could both find that it
    /// has failed, and both send it.
    private func claim(_ id: MessageID) -> Bool { state.withLock { $0.claimed.insert(id).inserted } }

    private func unclaim(_ id: MessageID) { state.withLock { _ = $0.claimed.remove(id) } }

    /// Cancels or discards a marked message. Returns false, without the mark, if it was or may have been sent.
    nonisolated(nonsending) func remove(_ id: MessageID) async throws -> Bool {
        let handle = room.message(id)
        if case .unsettled? = room.progress(of: [id])[id], let handle { await handle.cancel() }
        switch room.progress(of: [id])[id] {
        case .unsettled?, .ended(.accepted)?:
            await show([.unmark(id)], of: id)
            return false
        case .ended(.failed(.cancelled))?: break
        case .ended(.failed)?, nil:
            do {
                guard try await timeline.accepted([id], in: name).isEmpty else { return false }
                if let letter = try await readLetters().first(where: { $0.id == id }) {
                    try await room.discard(letter)
                    try await readLetters()
                }
            } catch {
                await write([.unmark(id)])
                throw error
            }
        }
        await write([.remove(id)])
        return true
    }

    /// Sends a dead letter again, whose entry is marked.
    nonisolated(nonsending) func retry(_ letter: DeadLetter, _ turn: CommandTurn?) async throws -> MessageID? {
        let handle: MessageHandle?
        do { handle = try await room.retry(letter, whenQueued: { turn?.end() }) } catch {
            await write([.unmark(letter.id)])
            throw error
        }
        guard let handle else {
            await write([.remove(letter.id)])
            return nil
        }
        _ = try? await readLetters()
        await show([.replace(letter.id, by: handle.id, letter.content)], of: handle.id)
        return handle.id
    }

    /// Reports that the user has read all messages up to an entry. The timeline stores the mark, and a later process
    /// sends it again.
    nonisolated(nonsending) public func markRead(upTo entry: TimelineEntry) async throws {
        try await timeline.markRead(upTo: entry, in: name)
        if let read = try await timeline.readCursor(of: name) { room.markRead(upTo: read) }
    }

    // MARK: Outcomes

    /// Shows a message of the outbox, and records its outcome if it has one.
    nonisolated(nonsending) private func show(_ steps: [OutgoingStep], of id: MessageID) async {
        await write(steps)
        state.withLock { _ = $0.unsettled.insert(id) }
        // After an error the message remains unsettled, and `run` throws the error of its next attempt.
        try? await settle([id])
    }

    /// Records the outcomes of messages.
    nonisolated(nonsending) func settle(_ ids: Set<MessageID>) async throws {
        let ids = try await renew(ids)
        var steps: [OutgoingStep] = []
        var ended: Set<MessageID> = []
        var hasFailures = false
        // The offsets of an earlier log are unknown after its replacement.
        var (log, all) = (room.log, room.progress(of: ids))
        while room.log != log { (log, all) = (room.log, room.progress(of: ids)) }
        for (id, progress) in all {
            guard case .ended(let result) = progress else { continue }
            steps.append(.settle(id, result, log: log))
            ended.insert(id)
            if case .failed = result { hasFailures = true }
        }
        guard !ended.isEmpty else { return }
        if hasFailures {
            // A stopped client cannot read dead letters. The next client reads them.
            do { try await readLetters() } catch MartletError.Code.stopped {}
        }
        try await perform(steps)
        state.withLock { $0.unsettled.subtract(ended) }
    }

    /// Shows messages without an outcome under their current IDs, if their device has taken another ID (C-103). Returns
    /// the current IDs.
    nonisolated(nonsending) private func renew(_ ids: Set<MessageID>) async throws -> Set<MessageID> {
        let renewed = ids.compactMap { id in room.currentID(of: id).map { (id, $0) } }
        guard !renewed.isEmpty else { return ids }
        // The log has the content of a message that was accepted meanwhile.
        try await perform(
            renewed.map { former, current in
                room.message(current)?.content.map { .replace(former, by: current, $0) } ?? .remove(former)
            })
        state.withLock { state in
            state.unsettled.subtract(renewed.map(\.0))
            state.unsettled.formUnion(renewed.map(\.1))
        }
        return ids.subtracting(renewed.map(\.0)).union(renewed.map(\.1))
    }

    /// Reads the dead letters, and removes those whose messages the relay has accepted (C-77).
    @discardableResult
    nonisolated(nonsending) func readLetters() async throws -> [DeadLetter] {
        let all = try await room.deadLetters()
        let accepted = try await timeline.accepted(all.map(\.id), in: name)
        let letters = all.filter { !accepted.contains($0.id) }
        state.withLock { $0.letters = letters }
        for letter in all where accepted.contains(letter.id) { try await room.discard(letter) }
        return letters
    }
}
