public import Martlet
import MartletDatabase
import MartletLink
import MartletTransport
public import MartletWire

/// The rooms of an account on this device, in a file: their messages as a user sees them, with edits, deletions,
/// reactions and messages that are still being sent.
///
/// A timeline is a copy, which can be rebuilt from the relay's log and the outbox. ``TimelineSync`` connects a timeline
/// with a client. An application that does not use ``TimelineSync`` passes the items of its rooms
/// (``apply(_:in:isModerator:)``) and its outgoing messages (``add(_:_:in:isModerator:)``, ``settle(_:in:as:log:)``) to
/// the timeline, and opens each room at ``cursor(of:)``. An item that was applied before has no effect.
///
/// The file is an SQLite database. The same folder contains files with the suffixes `-wal`, `-shm` and `-lock`, and an
/// empty one with the suffix `-damaged` after damage was found, until the next opening. A damaged file that was set
/// aside has the suffix `.corrupt-` and the time in milliseconds since 1970. One object of one process uses the file at
/// a time. The contents are not encrypted. The text of a deleted message is erased from these files, but not from one
/// that was set aside, when the deletion is applied (M-29).
///
/// All methods throw `DatabaseError`. After `corrupt`, open the timeline again: the damaged file is then set aside
/// (``setAsidePath``), and an empty one takes its place.
public final class Timeline: Sendable {
    /// The maximum number of entries of a page and of results of a search.
    public static let maxPageCount = 1000
    /// The maximum number of operations that wait for a thread.
    private static let maxJobCount = 1024

    /// The path of the file.
    public let path: String
    /// The account of the user. Messages of this account are never unread.
    public let account: AccountName
    /// The new name of the damaged file that was set aside when the timeline was opened; nil if there is none. The
    /// rooms are then read again from the start of their logs.
    public let setAsidePath: String?

    private let file: TimelineFile
    private let writer: DatabaseWriter<TimelineTables>
    private let reader: DatabaseReader<TimelineReader>
    private let feed = ChangeFeed()

    /// Opens the file, or creates it. A file belongs to the account that has opened it first.
    ///
    /// - Throws: `locked` if another object or process still uses the file after 2 s; `otherAccount` if it belongs to
    ///   another account; `newerSchema`, `otherFormat`, `full`, `readOnly`, `cannotOpen`, `ioError`.
    public convenience init(path: String, account: AccountName) async throws {
        try await self.init(path: path, account: account, isInline: false)
    }

    /// - Parameter isInline: Whether the file is used on the thread of the callers, for virtual time.
    package init(path: String, account: AccountName, isInline: Bool) async throws {
        self.path = path
        self.account = account
        let file = TimelineFile(path: path)
        self.file = file
        if isInline {
            writer = try await DatabaseWriter(inlineWithMaxJobCount: Self.maxJobCount) { try file.open(account) }
        } else {
            writer = try await DatabaseWriter(maxJobCount: Self.maxJobCount) { try file.open(account) }
        }
        setAsidePath = try await writer.perform { $0.aside }
        if isInline {
            reader = DatabaseReader(inline: try TimelineReader(try file.openReader(), account: account))
        } else {
            reader = try await DatabaseReader(maxJobCount: Self.maxJobCount) {
                try TimelineReader(try file.openReader(), account: account)
            }
            file.truncation.start { [weak writer] in await writer?.truncateLog() ?? true }
        }
    }

    deinit {
        feed.close()
    }

    /// Truncates the log, which has the texts of earlier pages. Returns false if that failed.
    func truncateLog() async -> Bool { await writer.truncateLog() }

    /// Ends the iterations of ``changes``, ``TimelineSync/run()`` and the models of views, and closes the file, which
    /// another object can then open.
    nonisolated(nonsending) public func close() async {
        feed.close()
        file.truncation.end()
        await reader.close()
        await writer.close()
    }

    /// The names of changed rooms, from the start of each iteration. A room that changes several times before an
    /// element is read is in that element once.
    public var changes: TimelineChanges { TimelineChanges(feed: feed) }

    // MARK: Writing

    /// Applies items of a room in their order (`Room.items`).
    ///
    /// - Parameters:
    ///   - items: The items. Those that were applied before have no effect.
    ///   - room: The name of the room.
    ///   - isModerator: Whether an account may delete messages of others (M-9). It is called on another thread.
    nonisolated(nonsending) public func apply(
        _ items: [RoomItem], in room: RoomName, isModerator: @escaping @Sendable (AccountName) -> Bool = { _ in false }
    ) async throws {
        try await write(room) { try $0.apply(items, in: room, isModerator: isModerator) }
    }

    /// Shows an outgoing message before the relay has accepted it. A change takes effect at once, and its failure
    /// restores the earlier state. Another content for a message that is not accepted replaces the earlier one.
    ///
    /// - Parameters:
    ///   - id: The ID of the message (`MessageHandle.id`).
    ///   - content: The content of the message.
    ///   - room: The name of the room.
    ///   - isModerator: As in ``apply(_:in:isModerator:)``.
    nonisolated(nonsending) public func add(
        _ id: MessageID, _ content: MessageContent, in room: RoomName,
        isModerator: @escaping @Sendable (AccountName) -> Bool = { _ in false }
    ) async throws {
        try await perform([.add(id, content)], in: room, isModerator: isModerator)
    }

    /// Records the outcome of an outgoing message: an accepted one moves to its offset, a failed one keeps its place
    /// and has the reason, and a cancelled one disappears.
    ///
    /// - Parameters:
    ///   - id: The ID of the message.
    ///   - room: The name of the room.
    ///   - result: The outcome.
    ///   - log: The log of the offset (`Room.log`); nil for the current one.
    nonisolated(nonsending) public func settle(
        _ id: MessageID, in room: RoomName, as result: OutboxOutcome.Result, log: LogID? = nil
    ) async throws {
        try await perform([.settle(id, result, log: log)], in: room)
    }

    /// Removes an outgoing message that was not accepted, for example a dead letter that was discarded or retried.
    nonisolated(nonsending) public func remove(_ id: MessageID, in room: RoomName) async throws {
        try await perform([.remove(id)], in: room)
    }

    /// Records a change of the list of the account's rooms (`Client.roomUpdates`). A room that is no longer in the
    /// relay's list is not listed until the relay lists it again, or it is opened. Its entries remain in the file.
    nonisolated(nonsending) public func apply(_ update: RoomListUpdate) async throws {
        let rooms = try await write { try $0.apply(update) }
        for room in rooms { feed.publish(room) }
    }

    /// Lists a room that the account had left, because it is opened again.
    nonisolated(nonsending) func list(_ room: RoomName) async throws {
        try await write { try $0.list(room) }
    }

    /// Removes a room with all its entries, and its read mark. Messages that the outbox still has appear again when the
    /// room is opened.
    nonisolated(nonsending) public func remove(room: RoomName) async throws {
        try await write(room) { try $0.remove(room) }
    }

    /// Records that the user has read all messages up to a cursor. An earlier cursor, and one of an unknown log,
    /// has no effect.
    nonisolated(nonsending) public func markRead(upTo cursor: RoomCursor, in room: RoomName) async throws {
        _ = try await storeReadMark(cursor, in: room)
    }

    /// - Returns: Whether the log of the cursor is known.
    nonisolated(nonsending) func storeReadMark(_ cursor: RoomCursor, in room: RoomName) async throws -> Bool {
        try await write(room) { try $0.markRead(upTo: cursor, in: room) }
    }

    /// Records that the user has read all messages up to an entry. An entry without an offset has no effect.
    nonisolated(nonsending) package func markRead(upTo entry: TimelineEntry, in room: RoomName) async throws {
        guard entry.offset != nil else { return }
        try await write(room) { try $0.markRead(upTo: entry.position, in: room) }
    }

    /// Removes the entries of the room's log. Outgoing messages and the read mark remain. The application then reads
    /// the room again from its start.
    nonisolated(nonsending) public func clear(_ room: RoomName) async throws {
        try await write(room) { try $0.clear(room) }
    }

    /// Performs changes of outgoing messages in one transaction.
    nonisolated(nonsending) package func perform(
        _ steps: [OutgoingStep], in room: RoomName,
        isModerator: @escaping @Sendable (AccountName) -> Bool = { _ in false }
    ) async throws {
        guard !steps.isEmpty else { return }
        let time = EventLoop.wallClock
        try await write(room) { try $0.perform(steps, in: room, time: time, isModerator: isModerator) }
    }

    /// Applies messages of the room's history. They do not change the cursor.
    ///
    /// - Returns: False, without an effect, if they are of another log than the current one.
    nonisolated(nonsending) package func apply(
        _ page: HistoryPart, in room: RoomName, isModerator: @escaping @Sendable (AccountName) -> Bool
    ) async throws -> Bool {
        try await write(room) { try $0.apply(page, in: room, isModerator: isModerator) }
    }

    // MARK: Reading

    /// The cursor at which the room is opened, to continue after the last applied item; nil if there is none.
    nonisolated(nonsending) public func cursor(of room: RoomName) async throws -> RoomCursor? {
        try await read { try $0.cursor(of: room) }
    }

    /// The entries above a position, in ascending order.
    ///
    /// - Parameters:
    ///   - room: The name of the room.
    ///   - position: The position of the first entry of the next page; nil for the last page.
    ///   - limit: The maximum number of entries, at most ``maxPageCount``.
    nonisolated(nonsending) public func page(
        of room: RoomName, before position: TimelineEntry.Position? = nil, limit: Int = 50
    ) async throws -> [TimelineEntry] {
        try await read { try $0.page(of: room, before: position, limit: limit) }
    }

    /// The entries below a position, in ascending order.
    nonisolated(nonsending) public func page(
        of room: RoomName, after position: TimelineEntry.Position, limit: Int = 50
    ) async throws -> [TimelineEntry] {
        try await read { try $0.page(of: room, after: position, limit: limit) }
    }

    /// The entry of a message, for example of the target of a reply; nil if it is unknown.
    nonisolated(nonsending) public func entry(_ id: MessageID, in room: RoomName) async throws -> TimelineEntry? {
        try await read { try $0.entry(id, in: room) }
    }

    /// The number of unread messages of other accounts among the newest 256 offsets of the room (M-27), at most
    /// `RoomSummary.maxUnreadCount`. Edits, deletions, reactions, commands and system messages do not count.
    nonisolated(nonsending) public func unreadCount(of room: RoomName) async throws -> Int {
        try await read { try $0.unreadCount(of: room) }
    }

    /// The first message that was accepted at or after a time, in milliseconds since 1970; nil if the file has none.
    nonisolated(nonsending) public func entry(
        acceptedFrom time: UInt64, in room: RoomName
    ) async throws -> TimelineEntry? {
        try await read { try $0.entry(acceptedFrom: time, in: room) }
    }

    /// The room with its last message and unread count; nil if it is unknown, or if the account has left it.
    nonisolated(nonsending) public func room(_ name: RoomName) async throws -> TimelineRoom? {
        try await read { try $0.listed(name) }
    }

    /// The rooms with their last messages and unread counts, those with the latest message first. They are the rooms of
    /// the relay's list (``apply(_:)``), and others that the file has and the account has not left.
    nonisolated(nonsending) public func rooms() async throws -> [TimelineRoom] {
        try await read { try $0.list() }
    }

    /// The entries whose text or file name contains all words, those that were received last first. The last word may
    /// be the start of a word; letters are compared without case and diacritics, ß as ss, and ä, ö, ü also as ae, oe,
    /// ue. In Chinese, Japanese, Korean, Thai and other scripts without spaces a word may be a part of a run. Symbols
    /// and emoji are found, and other punctuation is ignored.
    ///
    /// - Parameters:
    ///   - text: The words, at most 16 of them.
    ///   - room: The name of the room; nil for all rooms.
    ///   - limit: The maximum number of results, at most ``maxPageCount``.
    nonisolated(nonsending) public func search(
        _ text: String, in room: RoomName? = nil, limit: Int = 50
    ) async throws -> [TimelineMatch] {
        try await read { try $0.search(text, in: room, limit: limit) }
    }

    /// The entries of a window.
    nonisolated(nonsending) package func window(_ request: WindowRequest) async throws -> TimelineWindow {
        try await read { try $0.window(request) }
    }

    /// The first known offset of a room's current log; nil if the file has none.
    nonisolated(nonsending) package func earliest(of room: RoomName) async throws -> RoomCursor? {
        try await read { try $0.earliest(of: room) }
    }

    /// The cursor at an offset of a generation's log; nil if the log was replaced.
    nonisolated(nonsending) func cursor(
        at offset: UInt64, of generation: Int64, in room: RoomName
    ) async throws -> RoomCursor? {
        try await read { try $0.cursor(at: offset, of: generation, in: room) }
    }

    /// The read mark in a room's current log; nil if there is none.
    nonisolated(nonsending) package func readCursor(of room: RoomName) async throws -> RoomCursor? {
        try await read { try $0.readCursor(of: room) }
    }

    /// The messages of a room without an acceptance, changes included.
    nonisolated(nonsending) package func unsettled(in room: RoomName) async throws -> [UnsettledMessage] {
        try await read { try $0.unsettled(in: room) }
    }

    /// The messages that the relay has accepted, as entries or as changes.
    nonisolated(nonsending) package func accepted(
        _ ids: [MessageID], in room: RoomName
    ) async throws -> Set<MessageID> {
        try await read { try $0.accepted(ids, in: room) }
    }

    /// Reports a change of a room that is not in the file.
    func publish(_ room: RoomName) {
        feed.publish(room)
    }

    // MARK: Threads

    nonisolated(nonsending) private func write<Value: Sendable>(
        _ room: RoomName, _ body: @escaping @Sendable (TimelineTables) throws -> Value
    ) async throws -> Value {
        let value = try await write(body)
        feed.publish(room)
        return value
    }

    nonisolated(nonsending) private func write<Value: Sendable>(
        _ body: @escaping @Sendable (TimelineTables) throws -> Value
    ) async throws -> Value {
        try await confirmingDamage { try await self.writer.perform(body) }
    }

    nonisolated(nonsending) private func read<Value: Sendable>(
        _ body: @escaping @Sendable (TimelineReader) throws -> Value
    ) async throws -> Value {
        try await confirmingDamage { try await self.reader.perform(body) }
    }

    /// Performs an operation again after damage, as `DatabaseError.confirmingDamage`, and records damage that remains,
    /// so that the next opening sets the file aside.
    nonisolated(nonsending) private func confirmingDamage<Value: Sendable>(
        _ operation: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        for _ in 1..<DatabaseError.maxDamageCount { do { return try await operation() } catch DatabaseError.corrupt {} }
        do { return try await operation() } catch {
            if case DatabaseError.corrupt = error { file.markDamaged() }
            throw error
        }
    }
}
