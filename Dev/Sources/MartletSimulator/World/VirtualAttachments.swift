import MartletLink
package import MartletRelay
package import MartletWire

/// A store of attachments in memory, which survives the relay's process like a disk. In place of SHA-256 it uses a
/// digest that needs no library.
package final class VirtualAttachments {
    private struct Upload {
        var byteCount: UInt64
        var bytes: [UInt8] = []
    }

    private struct Name: Hashable {
        var room: RoomName
        var digest: AttachmentDigest
    }

    private var uploads: [AttachmentKey: Upload] = [:]
    private var complete: [Name: [UInt8]] = [:]
    /// The highest position that each upload has had.
    private var highest: [AttachmentKey: UInt64] = [:]
    /// Whether every call fails.
    package var refusesCalls = false
    /// The number of bytes that were written, including those of discarded uploads.
    package private(set) var writtenByteCount = 0

    /// The digest of bytes in the virtual world.
    package static func digest(of bytes: [UInt8]) -> AttachmentDigest {
        var words: [UInt64] = [1, 2, 3, UInt64(bytes.count)]
        for byte in bytes {
            words[0] = (words[0] ^ UInt64(byte)) &* 0x100_0000_01B3
            words[1] = words[1] &* 31 &+ words[0]
        }
        words[2] = words[0] ^ ~words[1]
        return AttachmentDigest(words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })!
    }

    /// The highest position that an upload has had; the whole length if the room has the attachment.
    package func highestPosition(of upload: AttachmentKey) -> UInt64 {
        if let bytes = complete[Name(room: upload.room, digest: upload.digest)] { return UInt64(bytes.count) }
        return highest[upload] ?? 0
    }

    /// The bytes of a complete attachment.
    package func bytes(of digest: AttachmentDigest, in room: RoomName) -> [UInt8]? {
        complete[Name(room: room, digest: digest)]
    }

    /// Removes a complete attachment, as at the end of its lifetime.
    package func expire(_ digest: AttachmentDigest, in room: RoomName) {
        complete[Name(room: room, digest: digest)] = nil
    }

    /// Loses the last bytes of incomplete uploads.
    package func loseEnds(byteCount: Int) {
        for (key, upload) in uploads { uploads[key]?.bytes = Array(upload.bytes.dropLast(byteCount)) }
    }

    func perform(_ call: AttachmentCall) -> AttachmentResult {
        guard !refusesCalls else { return .failed(.unavailable) }
        switch call {
        case .begin(let key, let byteCount, _):
            if let bytes = complete[Name(room: key.room, digest: key.digest)] {
                return .done(.position(UInt64(bytes.count), byteCount: UInt64(bytes.count)))
            }
            if uploads[key]?.byteCount != byteCount { uploads[key] = Upload(byteCount: byteCount) }
            // An attachment of 0 bytes is complete when it is begun, as in the relay's stores.
            guard byteCount > 0 else { return complete(key, []) }
            return .done(.position(UInt64(uploads[key]?.bytes.count ?? 0), byteCount: byteCount))
        case .write(let key, let position, let chunks):
            guard let upload = uploads[key] else { return .failed(.unknown) }
            guard position == UInt64(upload.bytes.count) else { return .failed(.wrongPosition) }
            for chunk in chunks {
                uploads[key]?.bytes.append(contentsOf: chunk)
                writtenByteCount += chunk.count
            }
            let bytes = uploads[key]?.bytes ?? []
            highest[key] = max(highest[key] ?? 0, UInt64(bytes.count))
            guard UInt64(bytes.count) == upload.byteCount else {
                return .done(.position(UInt64(bytes.count), byteCount: upload.byteCount))
            }
            return complete(key, bytes)
        case .read(let room, let digest, let position, let length):
            guard let bytes = complete[Name(room: room, digest: digest)] else { return .failed(.unknown) }
            guard position < UInt64(bytes.count) else { return .failed(.wrongPosition) }
            return .done(.bytes(Array(bytes[Int(position)...].prefix(length)), byteCount: UInt64(bytes.count)))
        case .info(let room, let digest):
            guard let bytes = complete[Name(room: room, digest: digest)] else { return .failed(.unknown) }
            return .done(.info(byteCount: UInt64(bytes.count), mediaType: nil))
        case .remove(let key):
            uploads[key] = nil
            return .done(.removed)
        }
    }

    /// Completes an upload whose bytes are all stored, or discards it.
    private func complete(_ key: AttachmentKey, _ bytes: [UInt8]) -> AttachmentResult {
        uploads[key] = nil
        guard Self.digest(of: bytes) == key.digest else { return .failed(.digestMismatch) }
        complete[Name(room: key.room, digest: key.digest)] = bytes
        return .done(.position(UInt64(bytes.count), byteCount: UInt64(bytes.count)))
    }
}
