import MartletWire

@testable import MartletProtocol
@testable import MartletTestKit

/// The relay: whatever several peers do to it, its queues stay bounded and an honest pair loses and repeats nothing.
///
/// Input: a byte for the relay's limits and the honest pair's carrier, then deeds: a byte that says whose, and what it
/// takes.
enum RelayTarget {
    private static let maxSteps = 200
    private static let pauses: [Duration] = [
        .milliseconds(1), .milliseconds(30), .milliseconds(200), .seconds(1), .seconds(3), .seconds(11), .seconds(61),
        .seconds(301),
    ]

    static func run(_ input: RawSpan) {
        var program = ByteProgram(input)
        let hall = Hall(&program)
        for _ in 0..<maxSteps where !program.isAtEnd {
            switch program.byte() % 16 {
            case 0...1: hall.say(from: program.below(2), program.below(3000))
            case 2...3: hall.wait(pauses[program.below(pauses.count)])
            case 4: hall.disturb(&program)
            case let deed: hall.intrude(Int(deed) % hall.intruders.count, &program)
            }
        }
        hall.end()
    }

    /// A relay, two who talk, and three who do not.
    private final class Hall {
        let world: VirtualWorld
        let pair: HonestPair
        let intruders: [Intruder]

        init(_ program: inout ByteProgram) {
            let options = program.byte()
            var configuration = RelayConfiguration()
            configuration.resumeLifetime = .seconds(60)
            if options & 1 != 0 {
                configuration.limits = Limits(
                    maxBodyByteCount: 17 << 10, maxMessageByteCount: 20 << 10, linkWindow: 40 << 10,
                    sessionWindow: 20 << 10, maxSessions: 4)
            }
            if options & 2 != 0 { configuration.maxLinks = 4 }
            if options & 4 != 0 { configuration.maxSuspendedLinks = 1 }
            let world = VirtualWorld(relay: configuration, seed: UInt64(options))
            self.world = world
            pair = HonestPair(in: world, carrier: options & 8 == 0 ? .reliable : .unreliable)
            intruders = (0..<3).map { _ in Intruder(in: world) }
            intruders[0].connect(.reliable)
        }

        func say(from index: Int, _ byteCount: Int) {
            pair.say(from: index, byteCount)
            look()
        }

        /// Time passes in steps: who reads wants to look now and then.
        func wait(_ duration: Duration) {
            let end = world.now + duration
            while world.now < end {
                world.run(until: min(end, world.now + .seconds(2)))
                look()
            }
        }

        func intrude(_ index: Int, _ program: inout ByteProgram) {
            for name in IntruderScript.honest { world.relay.refusals[name] = Notice(code: .unauthenticated) }
            IntruderScript.step(intruders[index], &program)
            for name in IntruderScript.honest { world.relay.refusals[name] = nil }
            look()
        }

        /// What may happen to a relay besides.
        func disturb(_ program: inout ByteProgram) {
            switch program.byte() % 8 {
            case 0: world.cut(world.clients[program.below(2)])
            case 1: world.relay.refusesAppends.toggle()
            case 2: world.relay.storeDelay = world.relay.storeDelay == .zero ? .milliseconds(150) : .zero
            case 3: world.act { $0.revoke(AccountName("mallory")!, now: $1) }
            case 4: world.relay.refusesReads.toggle()
            case 5: world.relay.refusesLoads.toggle()
            default: wait(.seconds(program.below(20)))
            }
            look()
        }

        private func look() {
            for intruder in intruders { intruder.look() }
            for index in world.relay.engine.links.slots {
                guard let link = world.relay.engine.links.find(index) else { continue }
                LinkBounds.check(link)
            }
        }

        /// The store works again, the intruders do no more, and the pair has all the time it needs.
        func end() {
            world.relay.refusesAppends = false
            world.relay.refusesReads = false
            world.relay.refusesLoads = false
            pair.settle { [self] in look() }
        }
    }
}
