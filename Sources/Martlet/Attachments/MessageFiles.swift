import MartletWire

/// The messages of a room with files that are uploaded before the messages are published (M-26).
///
/// | state of a file | owns | ends |
/// |---|---|---|
/// | waiting | its path, its progress | `begin`: it is the first one; `remove` |
/// | uploading | the same, a transfer | `ended`: the upload is interrupted; `remove`: the file is uploaded, or the message has failed |
///
/// ``OutgoingMessages`` bounds the messages.
struct MessageFiles: Sendable {
    /// A file of a message.
    struct File: Sendable {
        let path: String
        /// The progress, over all attempts of the upload.
        let progress = Latest<TransferProgress?>(nil)
        fileprivate(set) var transfer: TransferCore?

        /// The message needs no upload any more.
        func end() {
            progress.finish()
            transfer?.cancel()
        }
    }

    private var files: [UInt64: File] = [:]

    var isEmpty: Bool { files.isEmpty }
    var isUploading: Bool { files.values.contains { $0.transfer != nil } }

    /// The file of a message; nil if it has none, or the file is uploaded.
    subscript(counter: UInt64) -> File? { files[counter] }

    mutating func add(_ counter: UInt64, _ path: String) { files[counter] = File(path: path) }

    mutating func begin(_ counter: UInt64, _ transfer: TransferCore) { files[counter]?.transfer = transfer }

    /// The upload of a file has ended. Returns false if the message does not wait for it.
    mutating func ended(_ counter: UInt64, _ transfer: TransferCore) -> Bool {
        guard files[counter]?.transfer === transfer else { return false }
        files[counter]?.transfer = nil
        return true
    }

    mutating func remove(_ counter: UInt64) -> File? { files.removeValue(forKey: counter) }
}
