import Foundation
import MartletFaultDisk
import MartletWire

/// Lives of a storage with faults, chosen by a seed.
///
/// | part of a life | faults |
/// |---|---|
/// | the storage is used | calls fail with ENOSPC, EIO, EMFILE, EINTR or a short write, once, several times or to the end; the power is cut; the wall clock is stepped |
/// | the storage is checked | none |
/// | the storage is closed | bits are flipped; all files or one of them are put back to an earlier time; the files are cloned |
struct StorageSimulator<Subject: Storage> {
    private let disk: SimulatedDisk
    private let clocks = SteppedClocks()
    private let subject: Subject
    private let problems = Problems()
    private var random: SeededRandom
    private var copies: [(files: SimulatedDisk.Files, ledger: Subject.Ledger)] = []
    private let emptyLedger: Subject.Ledger
    /// The calls of the life before, which bound the place of the next fault.
    private var usualCallCount = 80

    /// Runs a seed. Returns the contradictions.
    static func run(seed: UInt64) async throws -> [String] {
        var simulator = try StorageSimulator(seed: seed)
        try await simulator.run()
        return simulator.problems.texts
    }

    private init(seed: UInt64) throws {
        disk = try SimulatedDisk()
        random = SeededRandom(seed: seed)
        subject = Subject(folder: disk.folder, clocks: clocks)
        emptyLedger = subject.ledger
        problems.place = "\(Subject.name) \(seed)"
    }

    private mutating func run() async throws {
        let place = problems.place
        for life in 1...Int.random(in: 2...6, using: &random) {
            problems.place = "\(place), life \(life)"
            try await live()
            guard problems.texts.isEmpty else { return }
            try await closed()
            guard problems.texts.isEmpty else { return }
        }
    }

    // MARK: Life

    private mutating func live() async throws {
        let isCut = Int.random(in: 0..<3, using: &random) == 0
        problems.isPowerCut = isCut
        let before = disk.callCount
        // A life begins with some calls that open the files.
        let place = Int.random(in: 0..<usualCallCount + usualCallCount / 4, using: &random)
        if isCut {
            problems.place += ", power cut after \(place) calls"
            disk.cutPower(after: place)
        } else {
            failCalls(after: place)
        }
        if Int.random(in: 0..<4, using: &random) == 0 { clocks.step(&random) }
        await subject.use(&random, problems)
        await disk.closed()
        usualCallCount = max(20, disk.callCount - before)
        disk.endFaults()
        problems.isPowerCut = false
        guard isCut else { return try await check(after: .none) }
        try disk.restorePower(seed: random.next())
        // A fault of a disk can occur together with a loss of power, so the log of a database is damaged too.
        guard Int.random(in: 0..<6, using: &random) == 0 else { return try await check(after: .lossOfPower) }
        try await checkFlipped()
    }

    private mutating func failCalls(after place: Int) {
        let faults = [disk_fault_enospc, disk_fault_eio, disk_fault_emfile, disk_fault_eintr, disk_fault_short_write]
        guard let fault = faults.randomElement(using: &random), Int.random(in: 0..<5, using: &random) > 0 else {
            return
        }
        // An interruption that never ends is no fault that occurs. A file that cannot be read for longer counts as
        // damaged.
        let counts =
            switch fault {
            case disk_fault_eintr: [1, 2]
            case disk_fault_eio: [1, 3, 1_000_000]
            default: [1, 3, 20, 1_000_000]
            }
        let count = counts.randomElement(using: &random) ?? 1
        problems.place += ", \(count) calls after \(place) fail with \(fault.rawValue)"
        disk.fail(after: place, count: count, fault)
    }

    private mutating func check(after damage: FileDamage) async throws {
        let place = problems.place
        problems.place += ", checked after \(damage)"
        let isUsable = await subject.check(after: damage, problems)
        await disk.closed()
        problems.place = place
        guard !isUsable else { return }
        if !damage.isDamaged { problems.add("the storage cannot be used") }
        try disk.replaceFiles(by: [:])
        subject.ledger = emptyLedger
    }

    // MARK: Closed

    private mutating func closed() async throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1, 2: copies.append((try disk.files(), subject.ledger))
        case 3:
            guard let copy = copies.randomElement(using: &random) else { return }
            problems.place += ", restored"
            try disk.replaceFiles(by: copy.files)
            subject.ledger = copy.ledger
            try await check(after: .none)
        case 4:
            // One file of an earlier time beside the current ones.
            guard let copy = copies.randomElement(using: &random) else { return }
            var files = try disk.files()
            guard let path = copy.files.keys.sorted().randomElement(using: &random), let bytes = copy.files[path]
            else { return }
            problems.place += ", \(path) restored"
            files.updateValue(bytes, forKey: path)
            let folders = Set(files.filter { $0.value == nil }.keys)
            let parent = path.split(separator: "/").dropLast().joined(separator: "/")
            guard parent.isEmpty || folders.contains(parent) else { return }
            try disk.replaceFiles(by: files)
            try await check(after: .damaged(bitCount: 0))
        case 5, 6:
            try await checkFlipped()
        case 7: try await clone()
        default: clocks.correct()
        }
    }

    private mutating func checkFlipped() async throws {
        let count = Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 2...64, using: &random) : 1
        let path = try disk.flipBits(count, &random) ?? "nothing"
        problems.place += ", \(count) bits of \(path) flipped"
        try await check(after: .damaged(bitCount: count))
    }

    /// A second storage with a copy of the files is used, while the first one stays as it is.
    private mutating func clone() async throws {
        problems.place += ", cloned"
        let other = try SimulatedDisk()
        try other.replaceFiles(by: disk.files())
        let clone = Subject(folder: other.folder, clocks: clocks)
        clone.ledger = subject.ledger
        guard await clone.check(after: .none, problems) else { return problems.add("the clone cannot be used") }
        await other.closed()
        await clone.use(&random, problems)
        await other.closed()
        _ = await clone.check(after: .none, problems)
        try await check(after: .none)
    }
}
