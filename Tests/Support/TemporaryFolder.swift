import Foundation

/// Runs `body` with the path of a new folder, and removes the folder.
package func withTemporaryFolder<Answer>(_ body: (String) throws -> Answer) throws -> Answer {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder.path)
}

/// Calls `body` with the path of a new folder, and removes the folder when `body` has returned.
package nonisolated(nonsending) func withFolder<Answer>(
    _ body: (String) async throws -> Answer
) async throws -> Answer {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.path)
}
