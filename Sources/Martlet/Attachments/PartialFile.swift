import MartletTransport

/// The partial file of a download, which one download uses at a time.
///
/// | state | owns | ends |
/// |---|---|---|
/// | open | a locked file | `complete`: it is renamed; `discard`; the release: the first file stays and is continued |
///
/// A download that finds the file in use, by this or another process, writes a different file.
final class PartialFile: Sendable {
    /// The maximum number of downloads that write the same part of an attachment to the same path.
    private static let maxCount = 8

    let file: RegularFile
    private let path: String
    private let isFirst: Bool

    /// Opens the first file of a name that is not in use.
    init(_ name: String) throws(FileError) {
        var number = 1
        while true {
            let path = number == 1 ? "\(name).part" : "\(name).\(number).part"
            let file = try RegularFile(path, .write)
            if !file.lock() {
                guard number < Self.maxCount else { throw .inUse }
                number += 1
            } else if try file.isNamed(path) {
                // Otherwise its user has renamed the file since it was opened.
                (self.file, self.path, isFirst) = (file, path, number == 1)
                return
            }
        }
    }

    deinit {
        // Only the first file is continued.
        if !isFirst, (try? file.isNamed(path)) == true { try? Folder.removeFile(path) }
    }

    /// Makes the bytes durable and puts the file in the place of any file at `path`.
    func complete(as path: String) throws(FileError) {
        try file.sync()
        try Folder.rename(self.path, to: path)
    }

    /// Removes the file.
    func discard() throws(FileError) { try Folder.removeFile(path) }
}
