import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

/// The file or the bytes of an upload.
///
/// `@unchecked Sendable`: the thread for files accesses all state; the loop reads `kind` after the preparation.
final class UploadWork: TransferWork, @unchecked Sendable {
    /// The bytes that one step of the preparation reads.
    static let stepByteCount = 1 << 20

    enum Source {
        /// The bytes of the path can be others than those of a text.
        case file(path: [UInt8])
        case data([UInt8])
    }

    /// The fields of the attachment that the application gives.
    struct Description {
        var name: String?
        var mediaType: String?
        var caption: String?
        var thumbnail: [UInt8]?
    }

    private let source: Source
    private let description: Description
    /// The digest that the bytes must have; nil for any.
    private let expected: AttachmentDigest?
    private var file: RegularFile?
    private var byteCount: UInt64 = 0
    private var digested: UInt64 = 0
    private let stream = DigestStream()
    private var digest: AttachmentDigest?

    init(_ source: Source, _ description: Description, expected: AttachmentDigest? = nil) {
        self.source = source
        self.description = description
        self.expected = expected
        if case .data(let bytes) = source { byteCount = UInt64(bytes.count) }
    }

    var totalByteCount: UInt64? {
        if case .file = source, file == nil { nil } else { byteCount }
    }

    var kind: TransferKind {
        guard let digest else { preconditionFailure("the upload is not prepared") }
        return .upload(digest, byteCount: byteCount, mediaType: description.mediaType)
    }

    func prepareStep() throws -> Bool {
        if case .file(let path) = source, file == nil {
            do throws(FileError) {
                let file = try RegularFile(path, .read)
                byteCount = try file.byteCount()
                self.file = file
            } catch {
                throw MartletError.fileFailed(path: String(decoding: path, as: UTF8.self), "\(error)")
            }
        }
        let step = Int(min(byteCount - digested, UInt64(Self.stepByteCount)))
        if step > 0 {
            stream.add(try read(step, at: digested))
            digested += UInt64(step)
        }
        guard digested == byteCount else { return false }
        digest = AttachmentDigest(stream.finish())
        if let expected, digest != expected { throw MartletError.attachmentDamaged }
        return true
    }

    func read(_ byteCount: Int, at position: UInt64) throws -> [UInt8] {
        switch source {
        case .data(let bytes): return Array(bytes[Int(position)..<Int(position) + byteCount])
        case .file(let path):
            let bytes: [UInt8]
            do throws(FileError) {
                bytes = try file?.read(byteCount, at: position) ?? []
            } catch {
                throw MartletError.fileFailed(path: String(decoding: path, as: UTF8.self), "\(error)")
            }
            guard bytes.count == byteCount else { throw MartletError.attachmentDamaged }
            return bytes
        }
    }

    func write(_ bytes: [UInt8], at position: UInt64) {}

    func conclude() -> TransferConclusion { .done(attachment) }

    /// The attachment, when the upload is prepared.
    var attachment: Attachment {
        Attachment(
            location: Attachment.relayLocation, byteCount: byteCount, name: description.name,
            mediaType: description.mediaType, digest: digest?.bytes, caption: description.caption,
            thumbnail: description.thumbnail)
    }
}
