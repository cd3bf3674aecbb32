import MartletTransport
import MartletWire

/// Lines that the database has not taken, in files of a folder. A thread performs all calls for files.
///
/// | file | content |
/// |---|---|
/// | `lock` | nothing: it is locked by the object that uses the folder |
/// | 16 hexadecimal digits and `.spool` | a segment; the one with the lowest number is the oldest |
///
/// A segment of an earlier process is read and removed, and never continued, so an interrupted write at its end harms
/// no later line. After a restart the oldest segment is read from its start: the database takes lines again that it has
/// taken before, which changes nothing.
final class TelemetrySpool: Sendable {
    /// Lines in their order, and their end.
    struct Batch: Sendable {
        let lines: [[UInt8]]
        fileprivate let segment: UInt64
        fileprivate let end: UInt64
    }

    /// The failure of an append.
    enum Failure: Error, Equatable {
        case full
        case file(FileError)
    }

    private struct Waiting: Sendable {
        let bytes: [UInt8]
        let continuation: CheckedContinuation<Failure?, Never>
    }

    private let thread = FileThread(named: "martlet-telemetry")
    private let files: Guarded<SpoolFiles>
    private let size: Guarded<UInt64>
    private let waiting = Guarded<[Waiting]>([])

    /// Opens the folder, and creates it if it does not exist. The call blocks.
    ///
    /// - Throws: `FileError.inUse` if another object or process uses the folder; other errors of files.
    init(_ folder: String, maxByteCount: UInt64) throws(FileError) {
        let opened = try SpoolFiles(folder, maxByteCount: maxByteCount)
        files = Guarded(opened)
        size = Guarded(opened.byteCount)
    }

    /// The size of the segments.
    var byteCount: UInt64 { size.withLock { $0 } }

    /// Appends lines, and returns when they are durable. The lines of calls that wait together are synced once.
    func append(_ lines: [[UInt8]]) async throws(Failure) {
        var bytes: [UInt8] = []
        for line in lines { SpoolSegment.append(line, to: &bytes) }
        let record = bytes
        let failure = await withCheckedContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                waiting.append(Waiting(bytes: record, continuation: continuation))
                return waiting.count == 1
            }
            if isFirst { thread.execute { self.appendWaiting() } }
        }
        if let failure { throw failure }
    }

    private func appendWaiting() {
        let calls = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        let failures = change { $0.append(calls.map(\.bytes)) }
        for (call, failure) in zip(calls, failures) { call.continuation.resume(returning: failure) }
    }

    /// Returns the oldest lines; nil if there are none. `taken` follows, or the same lines are returned again.
    func next(byteCount: Int) async throws -> (batch: Batch?, damagedByteCount: Int) {
        try await thread.perform { try self.change { try $0.next(byteCount: byteCount) } }
    }

    /// Removes the lines of a batch.
    func taken(_ batch: Batch) async throws {
        try await thread.perform { try self.change { try $0.taken(batch) } }
    }

    /// Uses the files, on the thread.
    private func change<Result>(_ body: (inout SpoolFiles) throws -> Result) rethrows -> Result {
        try files.withLock { files in
            defer { size.withLock { $0 = files.byteCount } }
            return try body(&files)
        }
    }
}

/// The files of a spool. Calls block.
private struct SpoolFiles: Sendable {
    private struct Segment {
        let number: UInt64
        var byteCount: UInt64
    }

    private static let suffix = ".spool"
    private static let digitCount = 16
    /// The maximum number of a segment in the folder. Later ones are within 64 bits, too.
    private static let maxNumber: UInt64 = 1 << 62

    private let folder: String
    private let lock: RegularFile
    private let maxByteCount: UInt64
    /// The size from which another segment is begun.
    private let segmentByteCount: UInt64
    private var segments: [Segment] = []
    /// The file of the last segment, while it is continued.
    private var active: RegularFile?
    /// The bytes of the first segment that were taken.
    private var taken: UInt64 = 0
    private var lastNumber: UInt64 = 0
    private(set) var byteCount: UInt64 = 0

    init(_ folder: String, maxByteCount: UInt64) throws(FileError) {
        self.folder = folder
        self.maxByteCount = maxByteCount
        segmentByteCount = min(maxByteCount / 16, 1 << 20)
        try Folder.create(folder)
        lock = try RegularFile("\(folder)/lock", .write)
        guard lock.lock() else { throw .inUse }
        for name in try Folder.names(in: folder) {
            guard let number = Self.number(of: name) else { continue }
            lastNumber = max(lastNumber, number)
            // What is not a regular file is left alone.
            guard let size = try? RegularFile("\(folder)/\(name)", .read).byteCount() else { continue }
            segments.append(Segment(number: number, byteCount: size))
            byteCount = byteCount.addingReportingOverflow(size).partialValue
        }
    }

    private static func number(of name: String) -> UInt64? {
        guard name.utf8.count == digitCount + suffix.utf8.count, name.hasSuffix(suffix),
            let number = UInt64(name.prefix(digitCount), radix: 16), number < maxNumber,
            name == Self.name(of: number)
        else { return nil }
        return number
    }

    private static func name(of number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: digitCount - digits.count) + digits + suffix
    }

    private func path(of number: UInt64) -> String { "\(folder)/\(Self.name(of: number))" }

    // MARK: Appending

    /// Appends the records that fit, durably. Returns the failure of each, or nil.
    mutating func append(_ records: [[UInt8]]) -> [TelemetrySpool.Failure?] {
        var bytes: [UInt8] = []
        var failures: [TelemetrySpool.Failure?] = []
        for record in records {
            let sum = UInt64(bytes.count + record.count)
            let fits = sum <= maxByteCount && byteCount <= maxByteCount - sum
            if fits { bytes += record }
            failures.append(fits ? nil : .full)
        }
        guard !bytes.isEmpty else { return failures }
        do throws(FileError) {
            try append(bytes)
            return failures
        } catch {
            return failures.map { $0 ?? .file(error) }
        }
    }

    private mutating func append(_ bytes: [UInt8]) throws(FileError) {
        let file = try activeFile()
        let start = segments[segments.count - 1].byteCount
        do throws(FileError) {
            try file.write(bytes, at: start)
            try file.sync()
        } catch {
            // After a failed sync the state of the file is not known. The next append begins a new segment.
            try? file.truncate(to: start)
            active = nil
            throw error
        }
        segments[segments.count - 1].byteCount = start.addingReportingOverflow(UInt64(bytes.count)).partialValue
        byteCount = byteCount.addingReportingOverflow(UInt64(bytes.count)).partialValue
    }

    private mutating func activeFile() throws(FileError) -> RegularFile {
        if let active, segments[segments.count - 1].byteCount < segmentByteCount { return active }
        active = nil
        // A name that cannot be used is not tried again.
        lastNumber &+= 1
        let file = try RegularFile(path(of: lastNumber), .write)
        segments.append(Segment(number: lastNumber, byteCount: 0))
        try Folder.sync(folder)
        active = file
        return file
    }

    // MARK: Reading

    mutating func next(byteCount limit: Int) throws(FileError) -> (batch: TelemetrySpool.Batch?, damagedByteCount: Int)
    {
        var damagedByteCount = 0
        while let first = segments.first {
            let rest = first.byteCount &- taken
            let count = Int(min(rest, UInt64(limit)))
            let bytes: [UInt8]
            do throws(FileError) {
                bytes = count == 0 ? [] : try read(first, count)
            } catch  where error.isMissing || error.isDamaged {
                // The next start tries a file again that still exists.
                damagedByteCount += Int(clamping: rest)
                forgetFirst()
                continue
            }
            // A file that was shortened meanwhile ends where it ends.
            let part = SpoolSegment.read(bytes, isLast: UInt64(bytes.count) == rest || bytes.count < count)
            damagedByteCount += part.damagedByteCount
            let isShort = bytes.count < count
            let end = isShort ? first.byteCount : taken &+ UInt64(part.byteCount)
            let batch = TelemetrySpool.Batch(lines: part.lines, segment: first.number, end: end)
            if !part.lines.isEmpty { return (batch, damagedByteCount) }
            if count == 0, segments.count == 1, active != nil { return (nil, damagedByteCount) }
            try take(batch)
        }
        return (nil, damagedByteCount)
    }

    mutating func taken(_ batch: TelemetrySpool.Batch) throws(FileError) { try take(batch) }

    /// The bytes of the first segment up to an end are not needed any more. A segment without further bytes is removed;
    /// the one that is continued is emptied.
    private mutating func take(_ batch: TelemetrySpool.Batch) throws(FileError) {
        guard let first = segments.first, first.number == batch.segment else { return }
        taken = batch.end
        guard taken >= first.byteCount else { return }
        if segments.count == 1, let active {
            if first.byteCount > 0 { try active.truncate(to: 0) }
            segments[0].byteCount = 0
        } else {
            try Folder.removeFile(path(of: first.number))
            return forgetFirst()
        }
        taken = 0
        byteCount -= min(byteCount, first.byteCount)
    }

    private mutating func forgetFirst() {
        let first = segments.removeFirst()
        if segments.isEmpty { active = nil }
        taken = 0
        byteCount -= min(byteCount, first.byteCount)
    }

    /// Reads the first segment behind what was taken.
    private func read(_ first: Segment, _ count: Int) throws(FileError) -> [UInt8] {
        if segments.count == 1, let active { return try active.read(count, at: taken) }
        return try RegularFile(path(of: first.number), .read).read(count, at: taken)
    }
}
