import MartletLink
import MartletWire

/// The sessions of kind attachment of a room, and the uploads in memory.
///
/// | state of a call | owns | ends |
/// |---|---|---|
/// | in progress | a number | `take`: the store has answered |
///
/// A call outlives its session. Its answer is then discarded, and an upload goes on with the bytes that it has.
struct RoomAttachments: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<RoomAttachments>()
    /// What the answer of a call is for.
    enum Purpose: Sendable {
        case begin(AttachmentUploadKey)
        case write(AttachmentUploadKey)
        case read(correlation: UInt64, length: Int)
        case info(correlation: UInt64)
        case remove(AttachmentUploadKey, AttachmentUpload.Waiter)
    }

    /// An upload of the room.
    struct AttachmentUploadKey: Hashable, Sendable {
        var account: AccountName
        var digest: AttachmentDigest
    }

    private var sessions = SlotTable<AttachmentSession>()
    private var uploads: [AttachmentUploadKey: AttachmentUpload] = [:]
    /// The calls by the sessions that have caused them, too: a call may outlive an earlier state of the room in memory.
    private var calls: [AttachmentCallID: Purpose] = [:]
    private var lastNumber: UInt64 = 0
    /// The number of times that the store has named a complete attachment.
    private(set) var completionCount: UInt64 = 0

    /// Whether there is no session and no call.
    var isIdle: Bool { sessions.count == 0 && calls.isEmpty }
    var sessionCount: Int { sessions.count }

    // MARK: Sessions

    subscript(slot: Int) -> AttachmentSession {
        @inline(__always) unsafeAddress { unsafe sessions.address(slot) }
        @inline(__always) unsafeMutableAddress { unsafe sessions.mutableAddress(slot) }
    }

    var slots: [Int] { sessions.slots.filter { sessions.isLive($0) } }

    /// The slot of a handle; nil if it is a member's, or its session has ended. Slots of sessions count down from −2.
    @inline(__always)
    func slot(_ handle: MemberHandle) -> Int? {
        guard handle.slot <= -2 else { return nil }
        let slot = -2 - Int(handle.slot)
        return sessions.isLive(slot) && sessions[slot].key == handle.key ? slot : nil
    }

    /// The number in the handle of the session in a slot.
    static func handleSlot(_ slot: Int) -> Int32 { Int32(-2 - slot) }

    mutating func insert(_ session: AttachmentSession) -> Int { sessions.insert(session) }

    /// Removes a session. Uploads that no session has begun, and that have no work, leave the memory.
    mutating func remove(_ slot: Int) {
        let session = sessions[slot]
        sessions.remove(slot)
        for digest in session.begun { release(AttachmentUploadKey(account: session.who.account, digest: digest)) }
    }

    /// Forgets the complete uploads that a session has begun, which do not count.
    mutating func releaseComplete(_ slot: Int) {
        for digest in sessions[slot].begun {
            let key = key(digest, of: slot)
            guard uploads[key]?.isComplete == true else { continue }
            sessions[slot].begun.remove(digest)
            release(key)
        }
    }

    private mutating func release(_ key: AttachmentUploadKey) {
        guard var upload = uploads[key] else { return }
        upload.sessionCount -= 1
        uploads[key] = upload
        removeIfUnused(key)
    }

    // MARK: Uploads

    subscript(key: AttachmentUploadKey) -> AttachmentUpload? {
        get { uploads[key] }
        _modify { yield &uploads[key] }
    }

    func key(_ digest: AttachmentDigest, of slot: Int) -> AttachmentUploadKey {
        AttachmentUploadKey(account: sessions[slot].who.account, digest: digest)
    }

    /// The room has an attachment, whichever account has completed it.
    mutating func noteCompletion() { completionCount += 1 }

    /// Removes an upload that no session has begun, and that has no work.
    mutating func removeIfUnused(_ key: AttachmentUploadKey) {
        guard let upload = uploads[key], upload.sessionCount == 0, upload.isIdle else { return }
        uploads[key] = nil
    }

    /// Ends an upload: every session has to begin it again.
    mutating func end(_ key: AttachmentUploadKey) -> AttachmentUpload? {
        for slot in slots where sessions[slot].who.account == key.account { sessions[slot].begun.remove(key.digest) }
        return uploads.removeValue(forKey: key)
    }

    /// Takes the requests without an answer, because the room leaves the memory.
    mutating func takeWaiters() -> [AttachmentUpload.Waiter] {
        var waiters: [AttachmentUpload.Waiter] = []
        for var upload in uploads.values { waiters += upload.unanswered + upload.takeHeld().map(\.waiter) }
        for case .remove(_, let waiter) in calls.values { waiters.append(waiter) }
        uploads = [:]
        calls = [:]
        // An order that does not depend on hashes.
        return waiters.sorted { ($0.session.slot, $0.correlation) < ($1.session.slot, $1.correlation) }
    }

    // MARK: Calls

    /// A call begins, which a session has caused.
    mutating func begin(_ purpose: Purpose, for session: MemberHandle) -> AttachmentCallID {
        lastNumber += 1
        let id = AttachmentCallID(session: session, number: lastNumber)
        calls[id] = purpose
        return id
    }

    /// The store has answered a call; nil if the call is unknown.
    mutating func take(_ id: AttachmentCallID) -> Purpose? { calls.removeValue(forKey: id) }

    // MARK: Quiescence

    /// Bytes of a session and of an upload.
    private static let sessionByteCount = MemoryLayout<AttachmentSession>.stride + 128
    private static let uploadByteCount = MemoryLayout<AttachmentUpload>.stride + 128

    /// Bytes in memory without the bytes of attachments, which count at the links.
    var byteCount: Int {
        sessions.count * Self.sessionByteCount + uploads.count * Self.uploadByteCount
    }

    /// Checks that no request waits, and that the positions of uploads are those of the store.
    func check(_ check: inout QuiescenceCheck) {
        check.empty("calls of the attachment store", count: calls.count)
        check.empty("uploads with work", count: uploads.values.count { !$0.isIdle })
        let begun = slots.reduce(0) { $0 + sessions[$1].begun.count }
        check.equal("uploads that sessions have begun", uploads.values.reduce(0) { $0 + $1.sessionCount }, begun)
        for slot in slots { check.add(sessions[slot].quiescence()) }
    }
}
