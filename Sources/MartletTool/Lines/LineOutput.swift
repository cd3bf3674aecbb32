import Martlet
import MartletToolSupport

/// The output of a listener: each batch is written completely, then the cursor. Lines in a file are durable before the
/// cursor.
struct LineOutput {
    private let descriptor: Int32
    private let cursorFile: CursorFile?
    private var tail = WrittenTail([])

    /// Creates an output to a descriptor. With a cursor file, bytes that a previous run wrote after its cursor are not
    /// repeated.
    init(to descriptor: Int32, cursorFile: CursorFile?) {
        self.descriptor = descriptor
        self.cursorFile = cursorFile
        guard let recorded = cursorFile?.cursor?.place, let place = Self.place(of: descriptor),
            recorded.device == place.device,
            recorded.file == place.file, recorded.byteCount < place.byteCount
        else { return }
        tail = WrittenTail(Self.read(descriptor, from: recorded.byteCount, to: place.byteCount))
    }

    /// Writes lines up to the message at `cursor`, and then the cursor.
    mutating func write(_ bytes: [UInt8], upTo cursor: RoomCursor) throws(CommandError) {
        try Output.write(Array(tail.remove(from: bytes)), to: descriptor)
        guard let cursorFile else { return }
        let place = Self.place(of: descriptor)
        if place != nil, fsync(descriptor) != 0 {
            throw CommandError(.inputOutput, "cannot write: \(unsafe String(cString: strerror(errno)))")
        }
        try cursorFile.write(cursor, place: place)
    }

    /// Returns the end of the descriptor's file; nil if it is not a file.
    static func place(of descriptor: Int32) -> Cursor.Place? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Cursor.Place(
            device: UInt64(status.st_dev), file: UInt64(status.st_ino), byteCount: UInt64(max(status.st_size, 0)))
    }

    /// Returns bytes of the file, which is opened again because the descriptor is write-only; none if it cannot be
    /// read.
    private static func read(_ descriptor: Int32, from start: UInt64, to end: UInt64) -> [UInt8] {
        let file = Descriptors.open("/dev/fd/\(descriptor)", O_RDONLY)
        guard file >= 0 else { return [] }
        defer { close(file) }
        guard lseek(file, off_t(start), SEEK_SET) >= 0 else { return [] }
        return Descriptors.read(file, atMost: Int(clamping: end - start)) ?? []
    }
}
