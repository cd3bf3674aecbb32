import MartletWire

extension Story {
    /// The least number of messages in a drawn story.
    public static let minMessageCount = 200
    /// The least number of faults in a drawn story.
    public static let minFaultCount = 10

    /// Content of a drawn request, in bytes at the most.
    private static let maxRequestByteCount = 12_000

    /// How much slower a story is told that is to last.
    private static let slowness = 10

    /// Draws the story of a seed.
    ///
    /// - Parameters:
    ///   - duration: how long it lasts at the least; one that has to last is told at a slower pace.
    ///   - loopCount: the loops that the relay has; what happens is the same.
    public init(seed: UInt64, lasting duration: Duration = .zero, loopCount: Int = 1) {
        var draw = Draw(seed: seed)
        self.seed = seed
        self.loopCount = loopCount
        isReliable = seed.isMultiple(of: 2)
        devices = []
        // Mostly few rooms, so that much happens in each.
        roomCount = draw.below(16) == 0 ? 20 + draw.below(120) : 1 + draw.below(3)
        let otherKinds: [SessionKind] = [.chat, .media, .file]
        let mixesKinds = draw.below(4) == 0
        kinds = (0..<roomCount).map { mixesKinds ? otherKinds[$0 % otherKinds.count] : .chat }
        storeDelay = .milliseconds([0, 100, 200, 1000, 4000][draw.below(5)])
        firstSequence = draw.below(2) == 0 ? 1 : 1 << 32 - UInt64(1 + draw.below(60))
        relayDeflates = seed & 4 != 0
        steps = []
        for number in 0..<(2 + draw.below(4)) {
            // The fourth device is the first one's owner's other one.
            let account = number == 3 ? "account0" : "account\(number)"
            let features: [Features] = [.supported, .supported.union(.compact), .all]
            var device = Device(
                account: account, conditions: draw.conditions(isReliable: isReliable),
                features: features[Int((seed / 2 + UInt64(number)) % 3)])
            if draw.below(8) == 0 {
                device.features.remove([.receipts, .presence, .requests, .zlib][draw.below(4)])
            }
            if draw.below(5) == 0 { device.limits = Story.smallLimits }
            if draw.below(4) == 0 { device.tail = UInt32(draw.below(8)) }
            devices.append(device)
        }
        let hasBursts = draw.below(10) == 0
        var at = Duration.zero
        let slowness = duration > .zero ? Story.slowness : 1
        var counts = (messages: 0, faults: 0)
        while counts.messages < Story.minMessageCount || counts.faults < Story.minFaultCount || at < duration {
            let deed = draw.deed(devices.count, roomCount)
            switch deed {
            case .say(_, _, let count, _): counts.messages += count
            case .read, .type, .ask, .cancelRequest: break
            default: counts.faults += 1
            }
            steps.append(Step(at: at, deed: deed))
            at += .milliseconds(draw.below(draw.below(4) == 0 ? 4000 : 400) * slowness)
            if hasBursts, draw.below(60) == 0 { steps.append(Step(at: at, deed: draw.burst(devices.count, roomCount))) }
        }
    }

    /// Hardly more than the least that a peer may offer, so that windows fill and messages are too long for a device.
    private static let smallLimits = Limits(
        maxBodyByteCount: 17 << 10, maxMessageByteCount: 20 << 10, linkWindow: 40 << 10, sessionWindow: 20 << 10)

    private struct Draw {
        var random: SeededRandom

        init(seed: UInt64) {
            random = SeededRandom(seed: seed &* 0x9E37_79B9_7F4A_7C15)
        }

        mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

        /// Mostly some seconds, now and then up to a minute.
        mutating func aWhile() -> Duration { .milliseconds(500 + below(below(4) == 0 ? 60_000 : 10_000)) }

        mutating func conditions(isReliable: Bool) -> PathConditions {
            PathConditions(
                delay: .milliseconds(5 + below(200)), jitter: .milliseconds(below(100)),
                bytesPerSecond: below(3) == 0 ? 100_000 : nil, lostPerMille: isReliable ? 0 : below(300),
                doubledPerMille: isReliable ? 0 : below(60), overtakenPerMille: isReliable ? 0 : below(60))
        }

        /// More short messages at once than a relay holds for a session before its room is loaded.
        mutating func burst(_ deviceCount: Int, _ roomCount: Int) -> Deed {
            .say(device: below(deviceCount), room: below(roomCount), count: 500 + below(2000), byteCount: below(8))
        }

        mutating func deed(_ deviceCount: Int, _ roomCount: Int) -> Deed {
            let device = below(deviceCount)
            let room = below(roomCount)
            switch below(100) {
            case 0..<4: return .cut(device: device)
            case 4..<6: return .blackHole(device: device, .both, lasts: aWhile())
            case 6: return .blackHole(device: device, .up, lasts: aWhile())
            case 7: return .blackHole(device: device, .down, lasts: aWhile())
            case 8: return .forgetTranslations(device: device)
            case 9..<11: return .switchPath(device: device, delay: .milliseconds(5 + below(300)))
            case 11..<14: return .crash(device: device, down: .milliseconds(below(below(2) == 0 ? 200 : 5000)))
            case 14..<16: return .restartRelay(down: .milliseconds(below(5000)))
            case 16..<18: return .failStore(.append, lasts: aWhile())
            case 18: return .failStore(.load, lasts: aWhile())
            case 19: return .failStore(.read, lasts: aWhile())
            case 20: return .stopReading(device: device, lasts: aWhile())
            case 21: return .stopTaking(device: device, lasts: aWhile())
            case 22: return .suspend(device: device, room: room, lasts: aWhile())
            case 23: return .background(device: device, lasts: aWhile())
            case 24: return .stop(device: device, lasts: aWhile())
            case 25: return .retryNow(device: device)
            case 26: return .trim(room: room, keeps: below(20))
            case 27: return .replayHello(device: device)
            case 28: return .loseLog(room: room, down: .milliseconds(below(5000)))
            case 29..<32: return .read(device: device, room: room)
            case 32..<34: return .type(device: device, room: room)
            case 34..<39:
                let recipient = below(5) == 0 ? nil : Optional(below(deviceCount))
                let byteCount = below(6) == 0 ? below(Story.maxRequestByteCount) : below(100)
                return .ask(
                    device: device, of: recipient, room: room, byteCount: byteCount,
                    deadline: .milliseconds(below(4) == 0 ? below(2000) : 10_000 + below(50_000)))
            case 39: return .cancelRequest(device: device)
            case 40: return .close(device: device, room: room, lasts: .milliseconds(below(5000)))
            case 41 where below(3) == 0: return .revoke(device: device, lasts: aWhile())
            case 42: return .failStore(.appendHalf, lasts: aWhile())
            default:
                let byteCount = below(12) == 0 ? below(40_000) : below(200)
                return .say(device: device, room: room, count: 1 + below(6), byteCount: byteCount)
            }
        }
    }
}
