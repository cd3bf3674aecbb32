import MartletLink
import MartletTransport
import MartletWire

/// The file of an attachment: a head, two slots with positions, and the bytes (Specs/storage.md).
///
/// A batch of bytes and the slot that names it are made durable by one sync. The slot contains the checksum of the
/// batch, which reveals an incomplete batch after a loss of power. In this case the other slot is used, whose batch was
/// synced before.
struct AttachmentFile {
    /// The offset of the attachment's first byte in the file.
    static let headByteCount: UInt64 = 4096
    /// The maximum length in the head of a file, in bytes.
    static let maxByteCount: UInt64 = 1 << 44
    /// The maximum number of bytes of a batch in a slot.
    static let maxBatchByteCount: UInt64 = 1 << 28
    private static let magic: [UInt8] = Array("MARTATT1".utf8)
    private static let slotOffsets: [UInt64] = [1024, 2048]
    private static let slotByteCount = 48
    private static let ownerOffset: UInt64 = 3072

    /// The head of a file, which does not change.
    struct Head: Equatable {
        var room: RoomName
        var account: AccountName
        var digest: AttachmentDigest
        var byteCount: UInt64
        var mediaType: String?
    }

    /// A position, and the time from which the lifetime counts.
    struct Slot: Equatable {
        var number: UInt64
        var position: UInt64
        /// The start of the last batch, and its checksum.
        var batchStart: UInt64
        var checksum: UInt32
        var time: UInt64
    }

    let file: RegularFile
    let head: Head
    private(set) var slot: Slot
    /// The account that has begun the attachment last, for whose quota it counts.
    private(set) var owner: AccountName

    // MARK: Files

    /// Creates a file without bytes, which is durable when the call returns.
    init(creating path: String, _ head: Head, time: UInt64) throws(FileError) {
        file = try RegularFile(path, .write)
        self.head = head
        owner = head.account
        slot = Slot(number: 1, position: 0, batchStart: 0, checksum: 0, time: time)
        try file.truncate(to: 0)
        try file.write(Self.encoded(head), at: 0)
        try file.write(Self.encoded(slot), at: Self.slotOffsets[1])
        try file.truncate(to: Self.headByteCount)
        try file.sync()
    }

    /// Opens a file; nil if it is not valid.
    ///
    /// - Parameter isRecovered: whether the last batch is verified, as for a file that is continued.
    init?(opening path: String, isRecovered: Bool) throws(FileError) {
        file = try RegularFile(path, isRecovered ? .write : .read)
        guard let head = Self.head(try file.read(1024, at: 0)) else { return nil }
        self.head = head
        owner = Self.owner(try file.read(1024, at: Self.ownerOffset)) ?? head.account
        var slots: [Slot] = []
        for offset in Self.slotOffsets {
            if let slot = Self.slot(try file.read(Self.slotByteCount, at: offset)) { slots.append(slot) }
        }
        slots.sort { $0.number > $1.number }
        guard let newest = slots.first, newest.position <= head.byteCount else { return nil }
        slot = newest
        guard isRecovered else { return }
        if newest.position > newest.batchStart {
            let count = Int(newest.position - newest.batchStart)
            let batch = try file.read(count, at: Self.headByteCount + newest.batchStart)
            if batch.count != count || Self.checksum(batch) != newest.checksum {
                guard slots.count == 2, slots[1].position == newest.batchStart else { return nil }
                slot = slots[1]
            }
        }
        guard try Self.headByteCount + slot.position <= file.byteCount() else { return nil }
        // The bytes up to the position have to survive the next loss of power, too.
        try file.truncate(to: Self.headByteCount + slot.position)
        try file.sync()
    }

    /// Makes a batch of bytes durable.
    mutating func append(_ chunks: [[UInt8]], time: UInt64) throws(FileError) {
        var position = slot.position
        var checksum: UInt32 = 0
        for chunk in chunks {
            try file.write(chunk, at: Self.headByteCount + position)
            checksum = CRC32.checksum(chunk.rawBytes, continuing: checksum)
            position += UInt64(chunk.count)
        }
        try save(
            Slot(
                number: slot.number + 1, position: position, batchStart: slot.position, checksum: checksum,
                time: time))
    }

    /// Sets the time from which the lifetime counts, and the account for which the attachment counts.
    mutating func touch(time: UInt64, owner: AccountName) throws(FileError) {
        if owner != self.owner {
            var body = TLVWriter()
            body.append(.account, string: owner.text)
            // If this record is damaged by a loss of power, the attachment counts for the account in the head.
            try file.write(Self.record(body.bytes), at: Self.ownerOffset)
            self.owner = owner
        }
        var next = slot
        next.number += 1
        next.time = time
        try save(next)
    }

    private mutating func save(_ next: Slot) throws(FileError) {
        try file.write(Self.encoded(next), at: Self.slotOffsets[Int(next.number % 2)])
        try file.sync()
        slot = next
    }

    /// Discards the bytes that a failed `append` has written.
    func revert() throws(FileError) {
        try file.write(
            [UInt8](repeating: 0, count: Self.slotByteCount), at: Self.slotOffsets[Int((slot.number + 1) % 2)])
        try file.truncate(to: Self.headByteCount + slot.position)
        try file.sync()
    }

    // MARK: Encoding

    private static func checksum(_ bytes: [UInt8]) -> UInt32 { CRC32.checksum(bytes.rawBytes) }

    private static func encoded(_ head: Head) -> [UInt8] {
        var body = TLVWriter()
        body.append(.room, string: head.room.text)
        body.append(.account, string: head.account.text)
        body.append(.digest, bytes: head.digest.bytes)
        body.append(.byteCount, uint64: head.byteCount)
        if let mediaType = head.mediaType { body.append(.mediaType, string: mediaType) }
        return magic + record(body.bytes)
    }

    /// The length of TLVs, the TLVs and their checksum.
    private static func record(_ body: [UInt8]) -> [UInt8] {
        bigEndian(UInt32(body.count)) + body + bigEndian(checksum(body))
    }

    private static func body(ofRecord bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let bytes = Array(bytes)
        guard bytes.count >= 8 else { return nil }
        let count = Int(integer(bytes, at: 0, byteCount: 4))
        guard count <= bytes.count - 8 else { return nil }
        let body = Array(bytes[4..<4 + count])
        return integer(bytes, at: 4 + count, byteCount: 4) == UInt64(checksum(body)) ? body : nil
    }

    private static func owner(_ bytes: [UInt8]) -> AccountName? {
        guard let body = body(ofRecord: bytes[...]) else { return nil }
        var reader = TLVReader(body.rawBytes)
        guard let field = try? reader.next(), field.tag == .account else { return nil }
        return (try? field.string(maxByteCount: AccountName.maxByteCount)).flatMap { AccountName($0) }
    }

    private static func head(_ bytes: [UInt8]) -> Head? {
        guard bytes.starts(with: magic), let body = body(ofRecord: bytes.dropFirst(magic.count)) else { return nil }
        var room: RoomName?
        var account: AccountName?
        var digest: AttachmentDigest?
        var byteCount: UInt64?
        var mediaType: String?
        var reader = TLVReader(body.rawBytes)
        while let field = try? reader.next() {
            switch field.tag {
            case .room: room = (try? field.string(maxByteCount: RoomName.maxByteCount)).flatMap { RoomName($0) }
            case .account:
                account = (try? field.string(maxByteCount: AccountName.maxByteCount)).flatMap { AccountName($0) }
            case .digest: digest = AttachmentDigest(field.bytes())
            case .byteCount: byteCount = try? field.uint64()
            case .mediaType: mediaType = try? field.string(maxByteCount: 128)
            default: break
            }
        }
        guard let room, let account, let digest, let byteCount, byteCount <= maxByteCount else { return nil }
        return Head(room: room, account: account, digest: digest, byteCount: byteCount, mediaType: mediaType)
    }

    static func encoded(_ slot: Slot) -> [UInt8] {
        let bytes =
            bigEndian(slot.number) + bigEndian(slot.position) + bigEndian(slot.batchStart) + bigEndian(slot.time)
            + bigEndian(slot.checksum)
        return bytes + bigEndian(checksum(bytes))
    }

    private static func slot(_ bytes: [UInt8]) -> Slot? {
        guard bytes.count >= 40, integer(bytes, at: 36, byteCount: 4) == UInt64(checksum(Array(bytes.prefix(36))))
        else {
            return nil
        }
        let slot = Slot(
            number: integer(bytes, at: 0, byteCount: 8), position: integer(bytes, at: 8, byteCount: 8),
            batchStart: integer(bytes, at: 16, byteCount: 8), checksum: UInt32(integer(bytes, at: 32, byteCount: 4)),
            time: integer(bytes, at: 24, byteCount: 8))
        // The numbers of all later slots are within 64 bits, too.
        guard slot.number > 0, slot.number < 1 << 63, slot.batchStart <= slot.position,
            slot.position - slot.batchStart <= maxBatchByteCount
        else { return nil }
        return slot
    }

    private static func bigEndian(_ number: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
        stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func integer(_ bytes: [UInt8], at start: Int, byteCount: Int) -> UInt64 {
        bytes[start..<start + byteCount].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
