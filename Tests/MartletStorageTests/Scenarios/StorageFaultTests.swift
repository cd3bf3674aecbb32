import Foundation
import Testing

/// The seeds of the simulators of this file. The variable MARTLET_STORAGE_SEEDS sets them, such as 1..10000.
private func simulate<Subject: Storage>(_: Subject.Type, seeds count: UInt64) async throws {
    let text = ProcessInfo.processInfo.environment["MARTLET_STORAGE_SEEDS"] ?? ""
    let bounds = text.split(separator: ".").compactMap { UInt64($0) }
    let (first, last) = (bounds.first ?? 1, bounds.last ?? count)
    for seed in first...max(first, last) {
        for problem in try await StorageSimulator<Subject>.run(seed: seed) { Issue.record("\(problem)") }
    }
}

@Suite("Faults of the files of an outbox", .enabled(if: SimulatedDisk.isAvailable), .timeLimit(.minutes(600)))
struct OutboxStorageTests {
    // C-74, C-79, C-81, C-104
    @Test func `faults of every kind → each acknowledged message once and unchanged, or a report of the damage`()
        async throws
    {
        try await simulate(OutboxStorage.self, seeds: 100)
    }
}

@Suite("Faults of the files of a store", .enabled(if: SimulatedDisk.isAvailable), .timeLimit(.minutes(600)))
struct StoreStorageTests {
    //
    @Test func `faults of every kind → each accepted message once and unchanged, or a report of the damage`()
        async throws
    {
        try await simulate(StoreStorage.self, seeds: 100)
    }
}

@Suite("Faults of the files of a timeline", .enabled(if: SimulatedDisk.isAvailable), .timeLimit(.minutes(600)))
struct TimelineStorageTests {
    @Test func `faults of every kind → the state after its operations, and that of the log in the end`() async throws {
        try await simulate(TimelineStorage.self, seeds: 40)
    }
}

@Suite("Faults of the files of attachments", .enabled(if: SimulatedDisk.isAvailable), .timeLimit(.minutes(600)))
struct AttachmentStorageTests {
    //
    @Test func `faults of every kind → each acknowledged byte, or a report of the damage`() async throws {
        try await simulate(AttachmentStorage.self, seeds: 200)
    }
}

@Suite("Faults of the file of a download", .enabled(if: SimulatedDisk.isAvailable), .timeLimit(.minutes(600)))
struct DownloadStorageTests {
    @Test func `faults of every kind → the earlier file or the whole attachment`() async throws {
        try await simulate(DownloadStorage.self, seeds: 200)
    }
}
