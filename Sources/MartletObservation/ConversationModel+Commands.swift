public import Martlet
public import MartletTimeline

/// The commands of the user. A message, an edit, a deletion or a reaction is shown at once. It is sent when there is a
/// connection, by this process or a later one.
extension ConversationModel {
    // MARK: Messages

    /// Sends a text.
    ///
    /// - Returns: The ID of the message; nil if it was not queued (``failure``).
    @discardableResult
    public func send(_ text: String) async -> MessageID? {
        let endsTyping = reports.ended()
        return await command {
            if endsTyping { $0.room.setTyping(false) }
            return try await $0.send(try OutgoingMessage(text: text), in: $1)
        }
    }

    /// Sends a message.
    @discardableResult
    public func send(_ message: OutgoingMessage) async -> MessageID? {
        await command { try await $0.send(message, in: $1) }
    }

    /// Sends a message with a file, which is uploaded first, by this process or a later one. The entry is shown as
    /// pending when the file was read. The parameters are those of `OutgoingMessage.file(at:)`.
    @discardableResult
    public func send(
        fileAt path: String, name: String? = nil, mediaType: String? = nil, caption: String? = nil,
        thumbnail: [UInt8]? = nil
    ) async -> MessageID? {
        // Later commands wait while the file is read (C-107).
        await command { room, turn in
            let message = try await OutgoingMessage.file(
                at: path, name: name, mediaType: mediaType, caption: caption, thumbnail: thumbnail)
            return try await room.send(message, in: turn)
        }
    }

    /// The progress of the upload of a pending entry's file; nil if it has no file or the file is uploaded.
    public func uploadProgress(of entry: TimelineEntry) -> TransferProgressUpdates? {
        entry.message.flatMap { openRoom?.message($0)?.uploadProgress }
    }

    /// Sends a text in reply to a message.
    @discardableResult
    public func reply(to entry: TimelineEntry, _ text: String) async -> MessageID? {
        guard let target = entry.reference else { return nil }
        return await command { try await $0.send(.reply(to: target, text: text), in: $1) }
    }

    /// Replaces the text of a message of this account.
    public func edit(_ entry: TimelineEntry, text: String) async {
        guard let target = entry.reference else { return }
        await command { try await $0.edit(target, text: text, in: $1) }
    }

    /// Deletes a message. A message that was not sent yet or has failed is removed from the conversation.
    public func delete(_ entry: TimelineEntry) async {
        guard let target = entry.reference else { return }
        await command { try await $0.delete(target, in: $1) }
    }

    /// Adds a reaction of this account to a message, or removes it.
    public func toggle(_ reaction: String, on entry: TimelineEntry) async {
        guard let target = entry.reference else { return }
        let isRemoved = entry.reactions.contains { $0.includesOwn && $0.text.utf8.elementsEqual(reaction.utf8) }
        await command { try await $0.send(.reaction(reaction, to: target, isRemoved: isRemoved), in: $1) }
    }

    /// Sends a failed message again. A second call meanwhile has no effect.
    public func retry(_ entry: TimelineEntry) async {
        guard let id = entry.message else { return }
        await command { try await $0.retry(id, in: $1) }
    }

    /// Reports that the user has read the messages of the window.
    public func markRead() async {
        guard let last = shown.last(where: { $0.offset != nil && $0.state == .accepted }) else { return }
        await perform { try await $0.markRead(upTo: last) }
    }

    /// Reports that the user has typed. Call this method for each change of the text. The model limits the rate of the
    /// reports to the relay.
    public func noteTyping() async {
        if reports.typed(now: clock.now) { await setTyping(true) }
    }

    /// Reports that the user no longer types.
    public func endTyping() async {
        if reports.ended() { await setTyping(false) }
    }

    private func setTyping(_ isTyping: Bool) async {
        await command { room, turn in
            try await turn.begin()
            room.room.setTyping(isTyping)
        }
    }

    // MARK: Window

    /// Adds the page above the window. If the timeline has no earlier entries, the model requests earlier messages from
    /// the relay.
    public func loadEarlier() async {
        guard !isLoadingEarlier else { return }
        isLoadingEarlier = true
        defer { isLoadingEarlier = false }
        let (first, count) = (shown.first?.position, window.pageCount)
        let page = await perform { room in
            let page = try await room.timeline.page(of: room.name, before: first, limit: count)
            guard page.isEmpty else { return page }
            try await room.fetchEarlier(limit: count)
            return try await room.timeline.page(of: room.name, before: first, limit: count)
        }
        guard let page, !page.isEmpty else { return await update() }
        window.extendEarlier(page, shown: shown)
        await update()
    }

    /// Adds the page below the window.
    public func loadLater() async {
        guard hasLater, let last = shown.last?.position else { return }
        let count = window.pageCount
        let page = await perform { try await $0.timeline.page(of: $0.name, after: last, limit: count) }
        window.extendLater(page ?? [], shown: shown)
        await update()
    }

    /// Shows the end of the conversation.
    public func jumpToEnd() async {
        window.showEnd()
        await update()
    }

    /// Shows the surroundings of a message.
    ///
    /// - Returns: Whether the timeline has the message.
    @discardableResult
    public func jump(to id: MessageID) async -> Bool {
        let count = window.pageCount
        return await show { room in
            guard let entry = try await room.timeline.entry(id, in: room.name) else { return nil }
            return try await room.surroundings(of: entry, count)
        }
    }

    /// Shows the surroundings of the first message that was accepted at or after a time. If the timeline lacks the
    /// messages of that time, the model requests them from the relay.
    ///
    /// - Parameter time: The time in milliseconds since 1970.
    /// - Returns: Whether there is such a message.
    @discardableResult
    public func jump(toTime time: UInt64) async -> Bool {
        let count = window.pageCount
        return await show { room in
            guard let entry = try await room.entry(acceptedFrom: time, count) else { return nil }
            return try await room.surroundings(of: entry, count)
        }
    }

    private func show(_ find: @escaping @Sendable (SyncedRoom) async throws -> [TimelineEntry]?) async -> Bool {
        guard let entries = await perform(find) ?? nil else { return false }
        window.show(entries)
        await update()
        return true
    }

    /// Adds messages to a gap, from its end.
    ///
    /// - Returns: Whether messages were added.
    @discardableResult
    public func fill(_ gap: TimelineEntry) async -> Bool {
        let count = window.pageCount
        return await perform { try await $0.fill(gap, limit: count) } ?? false
    }

    // MARK: Threads

    /// Performs a command in the order of the calls. Its place is taken before the method suspends.
    @discardableResult
    private func command<Value: Sendable>(
        _ command: @escaping @Sendable (SyncedRoom, CommandTurn) async throws -> Value
    ) async -> Value? {
        let turn = sync.turn(in: name)
        defer { turn.end() }
        return await perform { try await command($0, turn) }
    }

    @discardableResult
    private func perform<Value: Sendable>(
        _ command: @escaping @Sendable (SyncedRoom) async throws -> Value
    ) async -> Value? {
        do { return try await Self.perform(command, name, sync) } catch {
            note(error)
            return nil
        }
    }

    @concurrent
    private nonisolated static func perform<Value: Sendable>(
        _ command: @Sendable (SyncedRoom) async throws -> Value, _ name: RoomName, _ sync: TimelineSync
    ) async throws -> Value {
        try await command(try await sync.open(room: name))
    }
}

extension SyncedRoom {
    /// An entry with the half of a page above and below it.
    fileprivate func surroundings(of entry: TimelineEntry, _ count: Int) async throws -> [TimelineEntry] {
        let before = try await timeline.page(of: name, before: entry.position, limit: count / 2)
        let after = try await timeline.page(of: name, after: entry.position, limit: count - count / 2)
        return before + [entry] + after
    }

    /// The first message at or after a time. The model requests messages from the relay if the timeline may lack some
    /// before it.
    fileprivate func entry(acceptedFrom time: UInt64, _ count: Int) async throws -> TimelineEntry? {
        let entry = try await timeline.entry(acceptedFrom: time, in: name)
        if let entry {
            let before = try await timeline.page(of: name, before: entry.position, limit: 1).last
            let earliest = try await timeline.earliest(of: name)
            switch before?.content {
            case .gap?: break
            case nil where (earliest?.offset ?? 0) > max(room.firstOffset, 1): break
            default: return entry
            }
        }
        guard client.currentStatus.isOnline, let id = try await fetch(acceptedFrom: time, limit: count) else {
            return entry
        }
        return try await timeline.entry(id, in: name) ?? entry
    }
}
