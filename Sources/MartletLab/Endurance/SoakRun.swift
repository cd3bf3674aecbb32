import Foundation
import MartletToolSupport
import MartletTransport

/// Hours of a conversation over connections that break, with members that come and go: whether anything is lost or
/// doubled, and whether anything grows.
///
/// The relay is another process; the clients and the weak links between are in this one. What is bounded fills up
/// during the warm-up, so that what grows after it has no bound. Of the allocator's habits only what is in use is
/// counted; see ``MeasuredHeap``.
struct SoakRun: Sendable {
    /// Mebibytes an hour that a process may gain after the warm-up.
    static let maxSlope = 1.0
    /// Descriptors and threads by which the middle of the last quarter may be above that of the first.
    static let maxDrift = 8
    /// Messages of a room that the relay keeps, enough for a member that is away for a while.
    private static let historyCount = 1000
    private static let roomSize = 20
    /// Each weak link cuts all of its connections again and again, each at a pace of its own, in seconds.
    private static let cutEvery = [17, 23, 29, 37]
    /// How long delivery may take after the last message was sent.
    private static let patience = Duration.seconds(120)

    let clientCount: Int
    let duration: Duration
    /// The average time between two messages of a member.
    let pause: Duration
    /// How long a client lives, in seconds; then another takes its place.
    let lifetime: ClosedRange<Int>
    /// Receives the report every minute.
    let onMinute: @Sendable (Report) -> Void

    /// How it stands.
    struct Report: Sendable {
        var elapsed = Duration.zero
        var saidCount = 0
        var shownCount = 0
        var lostCount = 0
        var doubledCount = 0
        var clientCount = 0
        var reconnects: UInt64 = 0
        var relay = SoakFigures()
        var clients = SoakFigures()

        var isGood: Bool {
            guard saidCount > 0, lostCount == 0, doubledCount == 0 else { return false }
            return [relay, clients].allSatisfy { figures in
                (figures.memory.slope ?? .infinity) < maxSlope && figures.descriptors.drift <= maxDrift
                    && figures.threads.drift <= maxDrift
            }
        }
    }

    /// For the first third, but ten minutes at the most, nothing is held against anybody.
    var warmUp: Duration { min(duration / 3, .seconds(600)) }

    func run() async throws -> Report {
        MeasuredHeap.share()
        let relay = try await RelayProcess(
            port: 0, ["--history", "\(Self.historyCount)", "--quiet"], environment: MeasuredHeap.environment)
        let report = try await relay.guarding { try await converse(with: relay) }
        await relay.kill()
        return report
    }

    private func converse(with relay: RelayProcess) async throws -> Report {
        let roomCount = (clientCount + Self.roomSize - 1) / Self.roomSize
        let links = try links(to: relay)
        let loop = try EventLoop(name: "members")
        let members = (0..<clientCount).map { number in
            SoakMember(
                number: number, room: number % roomCount,
                endpoint: "martlet://127.0.0.1:\(links[number % links.count].port)", pause: pause, on: loop)
        }
        let began = ContinuousClock.now
        let watcher = Task { await watch(relay, members, since: began) }
        defer { watcher.cancel() }
        try await together(members) { [duration, lifetime] in
            try await $0.live(until: began + duration, lifetime: lifetime)
        }
        watcher.cancel()
        var report = await watcher.value
        try await drain(members, roomCount: roomCount)
        for link in links { _ = await link.stop() }
        count(members, into: &report)
        return report
    }

    private func links(to relay: RelayProcess) throws -> [WeakProxy] {
        let loop = try EventLoop(name: "network")
        let target = try Endpoint(host: "127.0.0.1", port: relay.port, security: .plain)
        return try Self.cutEvery.enumerated().map { index, seconds in
            var profile = WeakLinkProfile()
            profile.delay = .milliseconds(5)
            profile.jitter = .milliseconds(3)
            profile.cutEvery = .seconds(seconds)
            return try WeakProxy(
                listenOn: SocketAddress(.loopbackV4, port: 0), to: target, profile: profile, seed: UInt64(index + 1),
                loop: loop)
        }
    }

    private func together(
        _ members: [SoakMember], _ body: @escaping @Sendable (SoakMember) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for member in members { group.addTask { try await body(member) } }
            try await group.waitForAll()
        }
    }

    /// Ends sending: the outboxes are sent, and every member reads to the end.
    private func drain(_ members: [SoakMember], roomCount: Int) async throws {
        var heads = Array(repeating: UInt64(0), count: roomCount)
        for member in members { heads[member.room] += UInt64(member.saidCount) }
        let deadline = ContinuousClock.now + Self.patience
        try await together(members) { [heads] in try await $0.listen(upTo: heads[$0.room], until: deadline) }
        for member in members { member.finish(headOf: heads[member.room]) }
    }

    private func count(_ members: [SoakMember], into report: inout Report) {
        let ledgers = members.map(\.ledger)
        report.saidCount = members.reduce(0) { $0 + $1.saidCount }
        report.clientCount = members.reduce(0) { $0 + $1.clientCount }
        report.reconnects = members.reduce(0) { $0 + $1.reconnects }
        report.shownCount = ledgers.reduce(0) { $0 + $1.shownCount }
        report.lostCount = ledgers.reduce(0) { $0 + $1.lostCount }
        report.doubledCount = ledgers.reduce(0) { $0 + $1.doubledCount }
    }

    /// Measures both processes until it is cancelled, and returns the figures.
    private func watch(
        _ relay: RelayProcess, _ members: [SoakMember], since began: ContinuousClock.Instant
    ) async -> Report {
        var report = Report()
        var reportedMinute = 0
        while (try? await Task.sleep(for: MeasuredHeap.interval)) != nil {
            report.elapsed = .now - began
            let counts = report.elapsed > warmUp
            report.relay.add(ProcessFigures(of: relay.identifier), at: report.elapsed, counts: counts)
            MeasuredHeap.trim()
            report.clients.add(ProcessFigures(of: getpid()), at: report.elapsed, counts: counts)
            let minute = Int(report.elapsed / .seconds(60))
            guard minute > reportedMinute else { continue }
            reportedMinute = minute
            count(members, into: &report)
            onMinute(report)
        }
        return report
    }
}
