import MartletLink
import MartletTransport
import MartletWire

/// An attachment whose bytes are in the message, so that nothing is transferred.
final class LocalWork: TransferWork {
    private let bytes: [UInt8]
    private let destination: DownloadWork.Destination

    init(_ bytes: [UInt8], _ range: Range<UInt64>?, _ destination: DownloadWork.Destination) {
        self.bytes = range.map { Array(bytes[Int($0.lowerBound)..<Int($0.upperBound)]) } ?? bytes
        self.destination = destination
    }

    var totalByteCount: UInt64? { UInt64(bytes.count) }
    /// An empty range, which the engine finishes at once.
    var kind: TransferKind {
        guard let none = AttachmentDigest([UInt8](repeating: 0, count: AttachmentDigest.byteCount)) else {
            preconditionFailure("a digest has 32 bytes")
        }
        return .download(none, 0..<0, byteCount: 0)
    }

    func prepareStep() throws -> Bool {
        guard case .file(let path) = destination else { return true }
        do throws(FileError) {
            let part = try PartialFile(path)
            try part.file.truncate(to: 0)
            try part.file.write(bytes, at: 0)
            try part.complete(as: path)
        } catch {
            throw MartletError.fileFailed(path: path, "\(error)")
        }
        return true
    }

    func read(_ byteCount: Int, at position: UInt64) -> [UInt8] { [] }
    func write(_ bytes: [UInt8], at position: UInt64) {}
    func conclude() -> TransferConclusion { .done(nil) }
}
