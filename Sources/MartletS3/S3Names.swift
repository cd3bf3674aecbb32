import MartletAuthentication
import MartletRelay
import MartletWire

/// The names of an upload in keys and in the index: hashes of room and account, and the digest (Specs/storage.md).
struct S3Names: Hashable, Sendable {
    let room: String
    let account: String
    let digest: AttachmentDigest

    init(_ upload: AttachmentKey) {
        (room, account, digest) = (Self.hash(upload.room.text), Self.hash(upload.account.text), upload.digest)
    }

    init(room: String, account: String, digest: AttachmentDigest) {
        (self.room, self.account, self.digest) = (room, account, digest)
    }

    /// The prefix of the folders of the account's uploads.
    var uploads: String { "u/\(room)/\(account)/\(digest)/" }
    /// The upload in the index. Hashes are valid names.
    var incomplete: AttachmentIndex.Name {
        AttachmentIndex.Name(room: RoomName(stringLiteral: room), digest: digest, account: owner)
    }
    var owner: AccountName { AccountName(stringLiteral: account) }

    /// SHA-256 in hexadecimal.
    static func sha256(_ bytes: [UInt8]) -> String {
        let digest = DigestStream()
        digest.add(bytes)
        return AttachmentDigest(digest.finish())?.description ?? ""
    }

    static func hash(_ text: String) -> String { String(sha256(Array(text.utf8)).prefix(32)) }

    /// Twelve digits, so that keys have the order of their numbers.
    static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, 12 - digits.utf8.count)) + digits
    }

    static func number(_ text: Substring) -> UInt64? { isHex(text, 12) ? UInt64(text, radix: 16) : nil }

    static func isHex(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count && text.utf8.allSatisfy { 48...57 ~= $0 || 97...102 ~= $0 }
    }

    static func digest(_ text: Substring) -> AttachmentDigest? {
        guard isHex(text, 64) else { return nil }
        let digits = text.utf8.map { $0 - ($0 < 58 ? 48 : 87) }
        return AttachmentDigest(stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }
}

/// The folder of an upload, whose objects do not change: chunks, and a mark when the upload was discarded.
struct S3Folder: Hashable, Sendable {
    let names: S3Names
    let byteCount: UInt64
    /// A random number in hexadecimal.
    let number: String

    init(_ names: S3Names, byteCount: UInt64) {
        (self.names, self.byteCount) = (names, byteCount)
        number = S3Names.hash("\(UInt64.random(in: 0...UInt64.max)) \(UInt64.random(in: 0...UInt64.max))")
    }

    /// The folder of an object with this key.
    init?(of key: String) {
        let parts = key.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "-" }
        guard parts.count >= 7, parts[0] == "u", S3Names.isHex(parts[1], 32), S3Names.isHex(parts[2], 32),
            let digest = S3Names.digest(parts[3]), let byteCount = S3Names.number(parts[4]), S3Names.isHex(parts[5], 32)
        else { return nil }
        names = S3Names(room: String(parts[1]), account: String(parts[2]), digest: digest)
        (self.byteCount, number) = (byteCount, String(parts[5]))
        guard key.hasPrefix(path) else { return nil }
    }

    var path: String { "\(names.uploads)\(S3Names.hex(byteCount))-\(number)/" }
    /// The key of the mark, after those of chunks.
    var end: String { "\(path)x" }
}

/// The object of a complete attachment, whose content is its manifest. The newest of several counts.
struct S3Marker: Hashable, Sendable {
    /// The room, the digest, and the account for which the attachment counts.
    var names: S3Names
    /// The time from which the lifetime counts, in milliseconds since 1970.
    var time: UInt64
    let byteCount: UInt64
    /// The number of the folder with the chunks, and how many there are.
    let number: String
    let chunkCount: UInt64

    init(_ folder: S3Folder, time: UInt64, chunkCount: Int) {
        (names, self.time, byteCount) = (folder.names, time, folder.byteCount)
        (number, self.chunkCount) = (folder.number, UInt64(chunkCount))
    }

    init?(parsing key: String) {
        let parts = key.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "-" }
        guard parts.count == 8, parts[0] == "a", S3Names.isHex(parts[1], 32), let digest = S3Names.digest(parts[2]),
            let time = S3Names.number(parts[3]), S3Names.isHex(parts[4], 32), let byteCount = S3Names.number(parts[5]),
            S3Names.isHex(parts[6], 32), let chunkCount = S3Names.number(parts[7])
        else { return nil }
        names = S3Names(room: String(parts[1]), account: String(parts[4]), digest: digest)
        (self.time, self.byteCount, number, self.chunkCount) = (time, byteCount, String(parts[6]), chunkCount)
    }

    static func prefix(_ room: String, _ digest: AttachmentDigest? = nil) -> String {
        "a/\(room)/" + (digest.map { "\($0)/" } ?? "")
    }

    var key: String {
        Self.prefix(names.room, names.digest)
            + "\(S3Names.hex(time))-\(names.account)-\(S3Names.hex(byteCount))-\(number)-\(S3Names.hex(chunkCount))"
    }

    /// The attachment in the index.
    var name: AttachmentIndex.Name {
        AttachmentIndex.Name(room: RoomName(stringLiteral: names.room), digest: names.digest)
    }
    var entry: AttachmentIndex.Entry {
        AttachmentIndex.Entry(
            account: names.owner, byteCount: byteCount, position: byteCount, mediaType: nil, time: time)
    }
}

/// Bytes of an upload in an object, whose name contains their hash: an object that is written twice is the same.
struct S3Chunk: Hashable, Sendable {
    let start: UInt64
    let byteCount: UInt64
    let name: String

    /// The end of the bytes, which is within the length.
    var end: UInt64 { start &+ byteCount }

    init(_ bytes: [UInt8], at start: UInt64) {
        (self.start, byteCount) = (start, UInt64(bytes.count))
        name = "\(S3Names.hex(start))-\(S3Names.sha256(bytes).prefix(32))"
    }

    /// The chunk with a name; nil for another object, or one that is not within the length.
    init?(_ name: Substring, byteCount: UInt64, of length: UInt64) {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let start = S3Names.number(parts[0]), S3Names.isHex(parts[1], 32),
            byteCount > 0, start < length, byteCount <= length - start
        else { return nil }
        (self.start, self.byteCount, self.name) = (start, byteCount, String(name))
    }

    /// The chunks of a folder that follow one another from the first byte on, as far as possible. Others are parts of
    /// blocks that were written as a whole later, or of a different relay.
    static func chain(_ objects: [S3Object], in folder: S3Folder) -> [S3Chunk] {
        let chunks = objects.compactMap {
            S3Chunk($0.key.dropFirst(folder.path.count), byteCount: $0.byteCount, of: folder.byteCount)
        }
        var last: [UInt64: S3Chunk] = [:]
        for chunk in chunks.sorted(by: { ($0.start, $1.byteCount) < ($1.start, $0.byteCount) })
        where (chunk.start == 0 || last[chunk.start] != nil) && last[chunk.end] == nil { last[chunk.end] = chunk }
        var chain: [S3Chunk] = []
        var end = last.keys.max() ?? 0
        while let chunk = last[end] {
            chain.append(chunk)
            end = chunk.start
        }
        return chain.reversed()
    }
}

/// The content of the object of a complete attachment: lines with its folder, its chunks and their lengths, an empty
/// line, and the media type.
struct S3Manifest: Sendable {
    /// The path of the folder.
    let path: String
    let chunks: [S3Chunk]
    let mediaType: String?

    init(path: String, _ chunks: [S3Chunk], mediaType: String?) {
        (self.path, self.chunks, self.mediaType) = (path, chunks, mediaType)
    }

    init?(_ bytes: [UInt8], of marker: S3Marker) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard let end = lines.firstIndex(of: ""), end > 0, lines[0].hasSuffix("-\(marker.number)/") else { return nil }
        var (chunks, position) = ([S3Chunk](), UInt64(0))
        for line in lines[1..<end] {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let byteCount = UInt64(parts[1]), position < marker.byteCount,
                let chunk = S3Chunk(parts[0], byteCount: byteCount, of: marker.byteCount), chunk.start == position
            else { return nil }
            chunks.append(chunk)
            position = chunk.end
        }
        guard position == marker.byteCount else { return nil }
        let mediaType = lines[(end + 1)...].joined(separator: "\n")
        self.init(path: String(lines[0]), chunks, mediaType: mediaType.isEmpty ? nil : mediaType)
    }

    /// The chunk with the byte at a position, which is within the length.
    func chunk(at position: UInt64) -> S3Chunk {
        var (low, high) = (0, chunks.count - 1)
        while low < high {
            let middle = low + (high - low) / 2
            if chunks[middle].end > position { high = middle } else { low = middle + 1 }
        }
        return chunks[low]
    }

    var bytes: [UInt8] {
        let lines = [path] + chunks.map { "\($0.name) \($0.byteCount)" } + ["", mediaType ?? ""]
        return Array(lines.joined(separator: "\n").utf8)
    }
}
