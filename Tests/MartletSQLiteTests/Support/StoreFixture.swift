import MartletStoreTestSupport

@testable import MartletDatabase
@testable import MartletRelaySQLite

extension TemporaryFolder {
    /// The store's file, used by this thread.
    func store(
        _ retention: StoreRetention = StoreRetention(), vfs: String? = nil, at now: UInt64 = 1000
    ) throws -> StoreFile {
        var options = Database.Options()
        options.vfs = vfs
        return try StoreFile(path: storePath, retention: retention, options: options) { now }
    }

    var storePath: String { file(StoreSchema.fileName) }
}
