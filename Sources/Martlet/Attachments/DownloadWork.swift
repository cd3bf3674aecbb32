import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

/// The file or the memory into which an attachment is downloaded.
///
/// A download to a file writes a partial file in the same folder, which a later download of a whole attachment
/// continues. After the last byte, the digest of a whole attachment is verified, and the partial file is synced and
/// renamed.
///
/// `@unchecked Sendable`: the thread for files accesses all state; the loop reads `kind` after the preparation, and the
/// caller reads the memory after the end.
final class DownloadWork: TransferWork, @unchecked Sendable {
    enum Destination {
        case file(path: String)
        case memory
    }

    private let digest: AttachmentDigest
    private let byteCount: UInt64
    private let range: Range<UInt64>
    private let destination: Destination
    private var part: PartialFile?
    private var stream = DigestStream()
    /// The number of written bytes of the range, and the number of those that an earlier process has written.
    private var written: UInt64 = 0
    private var earlier: UInt64?
    private(set) var memory: [UInt8] = []

    init(_ digest: AttachmentDigest, byteCount: UInt64, _ range: Range<UInt64>?, to destination: Destination) {
        self.digest = digest
        self.byteCount = byteCount
        self.range = range ?? 0..<byteCount
        self.destination = destination
    }

    private var isWhole: Bool { range == 0..<byteCount }
    private var length: UInt64 { range.upperBound - range.lowerBound }
    var totalByteCount: UInt64? { length }
    var kind: TransferKind { .download(digest, range.lowerBound + written..<range.upperBound, byteCount: byteCount) }

    private func partName(_ path: String) -> String {
        let part = isWhole ? "" : ".\(range.lowerBound)-\(range.upperBound)"
        return "\(path).\(digest.description.prefix(16))\(part)"
    }

    func prepareStep() throws -> Bool {
        guard case .file(let path) = destination else { return true }
        return try checked(path) { () throws(FileError) in
            guard let part, let earlier else {
                let opened = try PartialFile(partName(path))
                let found = try opened.file.byteCount()
                // Only the digest of a whole attachment verifies the bytes of an earlier process.
                let isContinued = isWhole && found <= length
                if !isContinued { try opened.file.truncate(to: 0) }
                earlier = isContinued ? found : 0
                part = opened
                return earlier == 0
            }
            // The digest of the bytes of an earlier process.
            let step = Int(min(earlier - written, UInt64(UploadWork.stepByteCount)))
            stream.add(try part.file.read(step, at: written))
            written += UInt64(step)
            return written == earlier
        }
    }

    private func checked<Value>(_ path: String, _ body: () throws(FileError) -> Value) throws -> Value {
        do { return try body() } catch { throw MartletError.fileFailed(path: path, "\(error)") }
    }

    func read(_ byteCount: Int, at position: UInt64) -> [UInt8] { [] }

    func write(_ bytes: [UInt8], at position: UInt64) throws {
        switch destination {
        case .memory: memory.append(contentsOf: bytes)
        case .file(let path): try checked(path) { () throws(FileError) in try part?.file.write(bytes, at: written) }
        }
        stream.add(bytes)
        written += UInt64(bytes.count)
    }

    func conclude() throws -> TransferConclusion {
        guard !isWhole || stream.finish() == digest.bytes else {
            guard case .file(let path) = destination else { throw MartletError.attachmentDamaged }
            try checked(path) { () throws(FileError) in try part?.discard() }
            guard let earlier, earlier > 0 else { throw MartletError.attachmentDamaged }
            (part, self.earlier, written, stream) = (nil, nil, 0, DigestStream())
            return .restart
        }
        if case .file(let path) = destination {
            try checked(path) { () throws(FileError) in try part?.complete(as: path) }
        }
        return .done(nil)
    }
}
