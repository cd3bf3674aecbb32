import MartletProtocol
import MartletWire

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Sets a damaged file aside, and copies to a new file the rooms of it that read well (R-70, Specs/hostile.md row
/// 63).
///
/// | state of the directory | after a crash |
/// |---|---|
/// | a damaged file, perhaps an incomplete new one | `setAside` begins again |
/// | no file, a complete new one | `finish` renames it |
enum StoreSalvage {
    private static let suffixes = ["", "-wal", "-shm"]

    /// Writes a new file, renames the damaged one, and puts the new one in its place.
    static func setAside(_ path: String, _ options: Database.Options, at now: UInt64) throws -> StoreEvent {
        let aside = "\(path).corrupt-\(now)"
        for suffix in suffixes { _ = unsafe unlink(partial(path) + suffix) }
        let (savedCount, lostCount) = try copy(from: path, to: partial(path), options)
        for suffix in suffixes.reversed() {
            if unsafe rename(path + suffix, aside + suffix) != 0, errno != ENOENT {
                throw DatabaseError.readOnly(path: path)
            }
        }
        try finish(path)
        return .setAside(path: aside, savedRoomCount: savedCount, lostRoomCount: lostCount)
    }

    /// Puts a complete new file in the place of a file that was set aside.
    static func finish(_ path: String) throws(DatabaseError) {
        guard unsafe access(path, F_OK) != 0, unsafe access(partial(path), F_OK) == 0 else { return }
        guard unsafe rename(partial(path), path) == 0 else { throw .readOnly(path: path) }
    }

    private static func partial(_ path: String) -> String { "\(path).partial" }

    private static func copy(
        from path: String, to target: String, _ options: Database.Options
    ) throws -> (savedCount: Int, lostCount: Int) {
        let copy = try StoreImport(path: target, options: options)
        guard let source = try? StoreContents(path: path, options: options) else { return (0, 0) }
        var (savedCount, lostCount) = (0, 0)
        var failure: DatabaseError?
        // The list of rooms ends early where it is damaged.
        try? source.forEachRoom { room in
            guard failure == nil else { return }
            do {
                try source.forEachRecord(of: room) { try copy.add($0) }
                try copy.endRoom()
                savedCount += 1
            } catch {
                copy.discardRoom()
                // An error of the new file, such as a full disk, is no damage of the old one.
                if let error = error as? DatabaseError, !error.isDamage { failure = error }
                lostCount += 1
            }
        }
        if let failure { throw failure }
        try? source.forEachRoles { try copy.add($0) }
        return (savedCount, lostCount)
    }
}

extension DatabaseError {
    /// Whether the error is one of the contents of a file.
    fileprivate var isDamage: Bool {
        if case .corrupt = self { true } else { false }
    }
}
