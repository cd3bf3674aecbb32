import Foundation
import Testing

/// The simulator of the faults of files. The variable MARTLET_STORAGE_SEEDS sets the seeds, such as 1..10000.
@Suite("Faults of the files of each storage", .enabled(if: SimulatedDisk.isAvailable), .timeLimit(.minutes(600)))
struct StorageFaultTests {
    private static let seeds: ClosedRange<UInt64> = {
        let text = ProcessInfo.processInfo.environment["MARTLET_STORAGE_SEEDS"] ?? ""
        let bounds = text.split(separator: "..").compactMap { UInt64($0) }
        guard let first = bounds.first, let last = bounds.last, first <= last else { return 1...80 }
        return first...last
    }()

    private func run<Subject: Storage>(_: Subject.Type) async throws {
        for seed in Self.seeds {
            for problem in try await StorageSimulator<Subject>.run(seed: seed) { Issue.record("\(problem)") }
        }
    }

    // C-74, C-79, C-81, C-104
    @Test func `an outbox → every acknowledged message once, unchanged and in order, or a report of the damage`()
        async throws
    {
        try await run(OutboxStorage.self)
    }

    //
    @Test func `a store → every accepted message once, unchanged and in order, or a report of the damage`()
        async throws
    {
        try await run(StoreStorage.self)
    }

    @Test func `a timeline → the state after its operations, and that of the log when it is complete`() async throws {
        try await run(TimelineStorage.self)
    }

    //
    @Test func `attachments → every acknowledged byte, or a report of the damage`() async throws {
        try await run(AttachmentStorage.self)
    }

    @Test func `a download → the earlier file or the whole attachment`() async throws {
        try await run(DownloadStorage.self)
    }
}
