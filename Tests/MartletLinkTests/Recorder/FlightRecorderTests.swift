import MartletWire
import Testing

@testable import MartletLink

/// Tests of flight recordings: their bound, what they leave out, and the replay.
@Suite struct FlightRecorderTests {
    @Test func `1000 random recordings replay to the same state`() throws {
        for seed in UInt64(1)...1000 {
            var run = RecordedRun(seed: seed)
            for _ in 0..<Int(20 + seed % 200) { run.step() }
            let replay = try FlightReplay(FlightRecording(parsing: run.recording))
            #expect(replay.difference == nil, "seed \(seed)")
            #expect(replay.status.state == run.connection.status.state)
        }
    }

    @Test(arguments: [32 << 10, 64 << 10])
    func `long recording stays within its bound and replays its latest events`(byteCount: Int) throws {
        var run = RecordedRun(seed: 7, byteCount: byteCount)
        for _ in 0..<40_000 { run.step() }
        #expect(run.recording.count <= byteCount)
        let recording = try FlightRecording(parsing: run.recording)
        #expect(recording.records.count > 400)
        let replay = try FlightReplay(recording)
        #expect(replay.difference == nil)
        #expect(replay.status.reconnects == run.connection.status.reconnects)
    }

    @Test func `recording of a fault replays to the same fault`() throws {
        var run = RecordedRun(seed: 3)
        run.connect()
        run.feed(.failed(.protocolViolation))
        #expect(run.recorder.takeFault() == .protocolViolation)
        #expect(run.recorder.takeFault() == nil)
        let replay = try FlightReplay(FlightRecording(parsing: run.recording))
        #expect(replay.difference == nil)
        #expect(replay.status.lastCode == .protocolViolation)
    }

    @Test func `machine that acts otherwise than the recorded one is reported with the first difference`() throws {
        var run = RecordedRun(seed: 3)
        run.connect()
        let count = try FlightRecording(parsing: run.recording).records.count
        // The recorded machine has sent a ping without a reason.
        run.recorder.record(.ping(nonce: 1), now: run.now)
        let difference = try #require(try FlightReplay(FlightRecording(parsing: run.recording)).difference)
        #expect(difference.record == count - 1)
        #expect(difference.recorded == "ping")
        #expect(difference.replayed == nil)
        #expect(difference.lines.count == 3)
    }

    @Test func `recording with size 0 is empty and notes the fault`() {
        var run = RecordedRun(seed: 3, byteCount: 0)
        run.connect()
        run.feed(.failed(.protocolViolation))
        #expect(run.recording == [])
        #expect(run.recorder.takeFault() == .protocolViolation)
    }

    @Test func `recorder needs at most 200 bytes without its records`() {
        #expect(MemoryLayout<FlightRecorder>.size <= 200)
    }

    // MARK: Contents

    @Test func `recording has no name, address, network or secret, and only the lengths of texts`() throws {
        let marker = "MARKERmarker"
        let bytes = Array(marker.utf8)
        let secret = try #require(Credential(bytes))
        let token = ResumeToken(0x4D41_524B_4552_6D61, 0x4D41_524B_4552_6D61, 0x4D41_524B_4552_6D61, 0)
        var run = RecordedRun(seed: 5)
        let path = PathStatus(
            isUp: true, kind: .wifi, network: NetworkID(rawValue: 0x4D41_524B_4552_6D61), addresses: [marker])
        run.feed(.input(.pathChanged(to: path)))
        run.feed(.input(.start))
        let id = run.connection.current
        run.feed(.input(.credential(id, secret, mechanism: MechanismName(marker))))
        run.feed(.input(.connected(id, localAddress: marker)))
        run.feed(.helloSent(timeout: .seconds(3)))
        run.feed(.auth(Auth(credential: secret)))
        run.feed(.input(.answer(id, secret, expecting: secret)))
        run.feed(.welcomed(.test(account: marker, token: token)))
        run.feed(.input(.pathChanged(to: path)))
        let notice = Notice(code: .serverBusy, reason: marker, redirect: marker)
        run.feed(.goAwayReceived(notice))
        run.now = run.now + .seconds(4000)
        run.feed(.deadlinePassed)
        run.feed(.rejected(notice, .reliable))
        let file = run.recording
        for length in [4, bytes.count] {
            for start in 0...(bytes.count - length) {
                #expect(!file.contains(Array(bytes[start..<start + length])), "bytes \(start), \(length)")
            }
        }
        let recording = try FlightRecording(parsing: file)
        #expect(try FlightReplay(recording).difference == nil)
        #expect(!recording.lines.contains { $0.contains(marker) })
        #expect(recording.lines.contains { $0.contains("credential of \(bytes.count) bytes") })
    }

    // MARK: Files

    @Test func `file with an other start, version, checksum or length is refused`() {
        var run = RecordedRun(seed: 1)
        run.connect()
        let file = run.recording
        func error(_ file: [UInt8]) -> RecordingError? {
            do throws(RecordingError) {
                _ = try FlightRecording(parsing: file)
                return nil
            } catch { return error }
        }
        #expect(error(file) == nil)
        #expect(error([]) == .notRecording)
        #expect(error(Array("MTFR".utf8)) == .notRecording)
        #expect(error([0] + file) == .notRecording)
        var other = file
        other[4] = 2
        #expect(error(other) == .unsupportedVersion(2))
        other = file
        other[10] ^= 1
        #expect(error(other) == .damaged)
        #expect(error(file.dropLast()) == .damaged)
        #expect(error(FlightRecording.file([])) == .invalid(at: 0))
    }

    @Test func `altered records with a right checksum are refused or replayed, and none traps`() throws {
        var random = SeededRandom(seed: 11)
        var replayCount = 0
        for seed in UInt64(1)...40 {
            var run = RecordedRun(seed: seed)
            for _ in 0..<60 { run.step() }
            let records = Array(run.recording.dropFirst(5).dropLast(4))
            for _ in 0..<100 {
                var altered = records
                for _ in 0...Int(random.next() % 3) {
                    altered[Int(random.next() % UInt64(altered.count))] = UInt8(truncatingIfNeeded: random.next())
                }
                if random.next() % 8 == 0 { altered.removeLast(Int(random.next() % UInt64(altered.count))) }
                guard let recording = try? FlightRecording(parsing: FlightRecording.file(altered)) else { continue }
                if (try? FlightReplay(recording)) != nil { replayCount += 1 }
                #expect(recording.lines.count == recording.records.count)
            }
        }
        #expect(replayCount > 100)
    }
}

/// A machine of connections with a recorder, and an environment that answers by chance.
private struct RecordedRun {
    var connection: ConnectionSupervisor
    var recorder: FlightRecorder
    var now = Instant(nanoseconds: 1_000_000_000_000)
    private var random: SeededRandom
    private var nonces: [UInt64] = []

    init(seed: UInt64, byteCount: Int = 256 << 10) {
        random = SeededRandom(seed: seed)
        var configuration = LinkConfiguration(account: AccountName("ada"), device: DeviceID(rawValue: 1))
        configuration.heartbeat = HeartbeatStrategy.allCases[Int(seed % 3)]
        configuration.reconnect = seed % 2 == 0 ? .server : .calm
        connection = ConnectionSupervisor(configuration, seed: seed, now: now)
        recorder = FlightRecorder(byteCount: byteCount)
    }

    var recording: [UInt8] { recorder.recording(of: connection, now: now) }

    mutating func feed(_ event: ConnectionEvent) {
        recorder.record(event, of: connection, now: now)
        connection.handle(event, now: now)
        recorder.handled(by: connection)
        while let step = connection.nextStep() {
            recorder.record(step, now: now)
            if case .ping(let nonce) = step { nonces.append(nonce) }
            if case .sendHello = step {
                recorder.record(.helloSent(timeout: .seconds(3)), of: connection, now: now)
                connection.handle(.helloSent(timeout: .seconds(3)), now: now)
                recorder.record(.framesWritten(leaving: 0), of: connection, now: now)
                connection.handle(.framesWritten(leaving: 0), now: now)
            }
        }
        recorder.recordStatus(of: connection, now: now)
        if recorder.isFull { recorder.beginSegment(with: connection, now: now) }
    }

    /// Establishes a connection.
    mutating func connect() {
        feed(.input(.start))
        let id = connection.current
        feed(.input(.credential(id, nil)))
        feed(.input(.connected(id, localAddress: "10.0.0.1")))
        feed(.welcomed(.test()))
    }

    /// Lets some time pass, and one event occur.
    mutating func step() {
        now = now + .milliseconds(Int64(random.next() % 20_000))
        let id = random.next() % 8 == 0 ? ConnectionID(rawValue: connection.current.rawValue / 2) : connection.current
        // Frames arrive and are sent between two events.
        if random.next() % 2 == 0 { connection.heartbeat.received(now: now) }
        if random.next() % 2 == 0 { connection.heartbeat.sent(now: now) }
        if random.next() % 2 == 0 {
            var rtt = RTTEstimator()
            _ = rtt.sample(.milliseconds(Int64(random.next() % 900)))
            connection.adapt(to: rtt, expectsReply: random.next() % 2 == 0, now: now)
        }
        let kind = PathKind.allCases[Int(random.next() % 5)]
        let notice = Notice(
            code: [.serverBusy, .draining, .resumeRejected, .unauthenticated, .replaced][Int(random.next() % 5)],
            reason: "x", retryAfter: random.next() % 2 == 0 ? .seconds(3) : nil,
            redirect: random.next() % 3 == 0 ? "martlet://other" : nil)
        switch random.next() % 30 {
        case 0: feed(.input(.start))
        case 1: feed(.input(.stop))
        case 2: feed(.input(.retryNow))
        case 3: feed(.input(.enterForeground))
        case 4: feed(.input(.setMode(HeartbeatMode.allCases[Int(random.next() % 4)])))
        case 5: feed(.input(.wake))
        case 6:
            let addresses: Set<String> = random.next() % 2 == 0 ? ["10.0.0.1"] : ["10.0.0.2"]
            let network = NetworkID(rawValue: random.next() % 5)
            let isUp = random.next() % 4 > 0
            feed(.input(.pathChanged(to: PathStatus(isUp: isUp, kind: kind, network: network, addresses: addresses))))
        case 7: feed(.input(.connectFailed(id, random.next() % 2 == 0 ? .notListening : .unreachable)))
        case 8: feed(.input(.closed(id, byPeer: random.next() % 2 == 0)))
        case 9: feed(.linkEnded)
        case 10: feed(.spread(.seconds(Int64(random.next() % 20))))
        case 11: feed(.auth(Auth(credential: Credential("a"), credentialLifetime: .seconds(90))))
        case 12: feed(.rejected(notice, random.next() % 2 == 0 ? .reliable : .unreliable))
        case 13: feed(.goAwayReceived(notice))
        case 14: feed(.failed(.protocolViolation))
        case 15: feed(.backupStarted)
        case 16: feed(.peerSilent)
        case 17: feed(.progressed(at: now, hasUnacknowledged: random.next() % 2 == 0))
        case 18: feed(.pending(random.next() % 2 == 0))
        case 19: feed(.pong(nonce: nonces.last ?? 1))
        case 20: feed(.input(.credentialFailed(id)))
        case 21: feed(.input(.answer(id, Credential("a")!, expecting: Credential("b"))))
        case 22: feed(.resumptionDiscarded)
        case 23...25:
            feed(.input(.start))
            feed(.input(.credential(connection.current, Credential("secret"))))
            feed(.input(.connected(connection.current, localAddress: "10.0.0.1")))
            if case .connected(_, .awaitingWelcome) = connection.machine.state { feed(.welcomed(.test())) }
        default:
            if let due = connection.deadline { now = max(now, due) }
            feed(.deadlinePassed)
        }
    }
}

extension Welcome {
    fileprivate static func test(
        account: String = "ada", token: ResumeToken = ResumeToken(1, 2, 3, 4)
    ) -> Welcome {
        Welcome(
            features: [], limits: .minimum, account: AccountName(account)!, link: LinkID(rawValue: 9),
            resumeToken: token, epoch: Epoch(rawValue: 1), resumeLifetime: .seconds(60),
            heartbeatInterval: .seconds(60), reconnectSpread: .seconds(12), credentialLifetime: .seconds(300),
            resumed: nil)
    }
}
