import Foundation
import Martlet
import MartletToolSupport
import MartletTransport
import MartletWire

/// A file that holds a ``Cursor`` in one room, for one process at a time, and replaced as a whole: a reader sees the
/// old one or the new one, after a loss of power too.
///
/// The lock (flock) is on the file itself. A new one is locked before it takes the old one's place, so that at no
/// instant a second process finds one that is not.
final class CursorFile: Sendable {
    /// What the file held when it was opened; `nil` when there was no cursor in it.
    let cursor: Cursor?
    private let room: RoomName
    private let path: String
    private let lock: Guarded<Int32>

    /// Opens and locks the file, and makes an empty one where there is none.
    ///
    /// Throws when another process has it, when it holds something else or the cursor of another room, and when it
    /// cannot be written.
    init(path: String, room: RoomName) throws(CommandError) {
        self.room = room
        self.path = path
        let descriptor = try Self.locked(path)
        do throws(CommandError) {
            cursor = try Self.read(descriptor, path)
            if let other = cursor?.roomName, other != room { throw Self.isOf(other, not: room, path) }
            // The folder must be one in which the file can be replaced: better to know that before the first line.
            guard unsafe access(Self.folder(of: path), W_OK) == 0 else { throw Self.failure(path) }
        } catch {
            close(descriptor)
            throw error
        }
        lock = Guarded(descriptor)
    }

    deinit {
        lock.withLock { _ = close($0) }
    }

    /// Replaces the cursor by a place in the room and in the output; it is on the disk when this returns.
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

    /// The file's descriptor, locked, while the file is still the one of that name.
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
            // Another process replaced it in between.
            close(descriptor)
        }
    }

    private static func read(_ descriptor: Int32, _ path: String) throws(CommandError) -> Cursor? {
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        let bytes: Data?
        do { bytes = try file.read(upToCount: Cursor.maxTextByteCount + 1) } catch {
            throw CommandError(.noInput, "cannot read \(path): \(error.localizedDescription)")
        }
        guard let bytes, !bytes.isEmpty else { return nil }
        guard let cursor = Cursor(String(decoding: bytes, as: UTF8.self)) else {
            throw CommandError(.noInput, "\(path) holds no cursor; it is left alone")
        }
        return cursor
    }

    /// A name is on the disk when its folder is.
    private static func synchronizeFolder(of path: String) throws(CommandError) {
        let descriptor = Descriptors.open(folder(of: path), O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        // Some file systems do not offer it for folders.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure(path) }
    }

    /// The folder in which the file of that path is. Foundation's `deletingLastPathComponent` traps on a path of one
    /// character.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func isOf(_ other: RoomName, not room: RoomName, _ path: String) -> CommandError {
        let (other, room) = (SafeText.line(other.text), SafeText.line(room.text))
        return CommandError(.usage, "\(path) holds the cursor of room \(other), not of \(room); it is left alone")
    }

    private static func failure(_ path: String) -> CommandError { .system(.cannotCreate, "cannot write \(path)") }
}
