import Martlet
import MartletToolSupport
import MartletTransport
import MartletWire

/// A file with the ``Cursor`` of one room, for one process at a time. It is replaced atomically: a reader finds either
/// the old or the new cursor, even after a loss of power.
///
/// The lock (flock) belongs to the file. A new file is locked before it replaces the old one, so another process never
/// finds an unlocked file.
final class CursorFile: Sendable {
    /// The cursor at the time of opening; nil if the file was empty.
    let cursor: Cursor?
    private let room: RoomName
    private let path: String
    private let lock: Guarded<Int32>

    /// Opens and locks the file, or creates an empty one.
    ///
    /// - Throws: An error if another process has locked the file, the file contains anything else or the cursor of
    ///   another room, or it cannot be written.
    init(path: String, room: RoomName) throws(CommandError) {
        self.room = room
        self.path = path
        let descriptor = try Self.locked(path)
        do throws(CommandError) {
            cursor = try Self.read(descriptor, path)
            if let other = cursor?.roomName, other != room { throw Self.isOf(other, not: room, path) }
            // The file is replaced in its folder, whose permissions are checked before the first line.
            guard unsafe access(Folder.parent(of: path), W_OK) == 0 else { throw Self.failure(path) }
        } catch {
            close(descriptor)
            throw error
        }
        lock = Guarded(descriptor)
    }

    deinit {
        lock.withLock { _ = close($0) }
    }

    /// Replaces the cursor. It is durable when the method returns.
    func write(_ cursor: RoomCursor, place: Cursor.Place? = nil) throws(CommandError) {
        let cursor = Cursor(cursor, of: room, place: place)
        let temporary = path + ".new"
        let descriptor = Descriptors.open(temporary, O_RDWR | O_CREAT | O_TRUNC)
        guard descriptor >= 0 else { throw Self.failure(path) }
        do throws(CommandError) {
            try Output.write(Array(cursor.text.utf8), to: descriptor)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fsync(descriptor) == 0,
                unsafe rename(temporary, path) == 0
            else { throw Self.failure(path) }
        } catch {
            close(descriptor)
            throw error
        }
        lock.withLock { old in
            close(old)
            old = descriptor
        }
        try Self.synchronizeFolder(of: path)
    }

    /// Returns the descriptor of the locked file, after a check that the path still refers to it.
    private static func locked(_ path: String) throws(CommandError) -> Int32 {
        while true {
            let descriptor = Descriptors.open(path, O_RDWR | O_CREAT)
            guard descriptor >= 0 else { throw failure(path) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let isTaken = errno == EWOULDBLOCK
                let error =
                    isTaken ? CommandError(.cannotCreate, "\(path) is in use by another process") : failure(path)
                close(descriptor)
                throw error
            }
            var (mine, named) = (stat(), stat())
            let isSame =
                unsafe fstat(descriptor, &mine) == 0 && stat(path, &named) == 0 && mine.st_ino == named.st_ino
                && mine.st_dev == named.st_dev
            if isSame { return descriptor }
            // Another process has replaced the file.
            close(descriptor)
        }
    }

    private static func read(_ descriptor: Int32, _ path: String) throws(CommandError) -> Cursor? {
        guard let bytes = Descriptors.read(descriptor, atMost: Cursor.maxTextByteCount + 1) else {
            throw CommandError.system(.noInput, "cannot read \(path)")
        }
        guard !bytes.isEmpty else { return nil }
        guard let cursor = Cursor(String(decoding: bytes, as: UTF8.self)) else {
            throw CommandError(.noInput, "\(path) contains no cursor and is not changed")
        }
        return cursor
    }

    /// Makes the name of the file durable by synchronizing its folder.
    private static func synchronizeFolder(of path: String) throws(CommandError) {
        let descriptor = Descriptors.open(Folder.parent(of: path), O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        // Some file systems do not support this for folders.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure(path) }
    }

    private static func isOf(_ other: RoomName, not room: RoomName, _ path: String) -> CommandError {
        let (other, room) = (SafeText.line(other.text), SafeText.line(room.text))
        return CommandError(.usage, "\(path) contains the cursor of room \(other), not of \(room), and is not changed")
    }

    private static func failure(_ path: String) -> CommandError { .system(.cannotCreate, "cannot write \(path)") }
}
