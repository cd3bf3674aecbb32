import MartletWire

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// The relay: for any input of several peers its queues stay bounded, and a correct pair loses and repeats nothing.
///
/// Input: a byte for the relay's limits and the pair's carrier, then steps: a byte for the peer, and its step.
enum RelayTarget {
    private static let maxSteps = 200
    private static let pauses: [Duration] = [
        .milliseconds(1), .milliseconds(30), .milliseconds(200), .seconds(1), .seconds(3), .seconds(11), .seconds(61),
        .seconds(301),
    ]

    static func run(_ input: RawSpan) {
        var program = ByteProgram(input)
        let relayWorld = RelayWorld(&program)
        for _ in 0..<maxSteps where !program.isAtEnd {
            switch program.byte() % 16 {
            case 0...1: relayWorld.say(from: program.below(2), program.below(3000))
            case 2...3: relayWorld.wait(pauses[program.below(pauses.count)])
            case 4: relayWorld.disturb(&program)
            case let step: relayWorld.intrude(Int(step) % relayWorld.intruders.count, &program)
            }
        }
        relayWorld.end()
    }

    /// A relay, a correct pair, and three faulty peers.
    private final class RelayWorld {
        let world: VirtualWorld
        let pair: HonestPair
        let intruders: [Intruder]

        init(_ program: inout ByteProgram) {
            let options = program.byte()
            var configuration = RelayConfiguration()
            configuration.link.resumeLifetime = .seconds(60)
            if options & 1 != 0 {
                configuration.link.limits = Limits(
                    maxBodyByteCount: 17 << 10, maxMessageByteCount: 20 << 10, linkWindow: 40 << 10,
                    sessionWindow: 20 << 10, maxSessions: 4)
            }
            if options & 2 != 0 { configuration.link.maxLinks = 4 }
            if options & 4 != 0 { configuration.link.maxSuspendedLinks = 1 }
            let world = VirtualWorld(relay: configuration, seed: UInt64(options))
            self.world = world
            pair = HonestPair(in: world, carrier: options & 8 == 0 ? .reliable : .unreliable)
            intruders = (0..<3).map { _ in Intruder(in: world) }
            intruders[0].connect(.reliable)
        }

        func say(from index: Int, _ byteCount: Int) {
            pair.say(from: index, byteCount)
            poll()
        }

        /// Advances time in steps, so that reading peers read in between.
        func wait(_ duration: Duration) {
            let end = world.now + duration
            while world.now < end {
                world.run(until: min(end, world.now + .seconds(2)))
                poll()
            }
        }

        func intrude(_ index: Int, _ program: inout ByteProgram) {
            for name in IntruderScript.honest { world.relay.refusals[name] = Notice(code: .unauthenticated) }
            IntruderScript.step(intruders[index], &program)
            for name in IntruderScript.honest { world.relay.refusals[name] = nil }
            poll()
        }

        /// A fault of the relay's environment.
        func disturb(_ program: inout ByteProgram) {
            switch program.byte() % 8 {
            case 0: world.cut(world.clients[program.below(2)])
            case 1: world.relay.refusesAppends.toggle()
            case 2: world.relay.storeDelay = world.relay.storeDelay == .zero ? .milliseconds(150) : .zero
            case 3: world.act { $0.revoke(AccountName("mallory"), now: $1) }
            case 4: world.relay.refusesReads.toggle()
            case 5: world.relay.refusesLoads.toggle()
            default: wait(.seconds(program.below(20)))
            }
            poll()
        }

        private func poll() {
            for intruder in intruders { intruder.poll() }
            for index in world.relay.engine.sessions.links.slots
            where world.relay.engine.sessions.links.isLive(index) {
                LinkBounds.check(
                    world.relay.engine.sessions.links[index], world.relay.engine.sessions.relayLinks[index])
            }
        }

        /// Repairs the store, stops the faulty peers, and lets the pair finish.
        func end() {
            world.relay.refusesAppends = false
            world.relay.refusesReads = false
            world.relay.refusesLoads = false
            pair.settle { [self] in poll() }
        }
    }
}
