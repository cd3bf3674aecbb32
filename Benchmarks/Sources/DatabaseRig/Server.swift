import CMartletPostgres
package import Foundation

/// An error with a text.
package struct Failed: Error {
    let text: String

    package init(text: String) { self.text = text }
}

/// A PostgreSQL of its own, on the disk of the folder for temporary files.
package final class Server {
    package static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    package let uri: String
    private let folder = "/tmp/martlet-bench-\(UUID().uuidString.prefix(8))"
    private let process = Process()
    private let input = Pipe()

    /// Starts the server.
    ///
    /// - Parameter settings: Settings of PostgreSQL in the form `name=value`.
    package init(_ settings: [String] = []) throws {
        process.executableURL = Self.repository.appending(path: "Scripts/test-postgres")
        process.arguments = [folder, "shared_buffers=512MB", "max_wal_size=4GB"] + settings
        process.standardInput = input
        try process.run()
        uri = "postgres://martlet@/postgres?host=\(folder)"
        while unsafe PQping(uri) != PQPING_OK {
            guard process.isRunning else { throw Failed(text: "the server has ended: \(folder)/server.log") }
            Thread.sleep(forTimeInterval: 0.1)
        }
    }

    package func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
