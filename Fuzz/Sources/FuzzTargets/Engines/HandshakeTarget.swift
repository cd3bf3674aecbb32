import MartletTestSupport
import MartletWire

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// Handshake and resume: for any bytes before welcome, the replies and the state are bounded, and the connection ends
/// in time.
///
/// Input: a byte that selects the side under test, then steps.
enum HandshakeTarget {
    private static let maxSteps = 120
    private static let pauses: [Duration] = [
        .milliseconds(1), .milliseconds(100), .seconds(1), .seconds(4), .seconds(5), .seconds(9), .seconds(31),
        .seconds(61),
    ]

    static func run(_ input: RawSpan) {
        var program = ByteProgram(input)
        if program.bool() { runClient(&program) } else { runRelay(&program) }
    }

    /// A relay and unauthenticated peers. Some authenticate, lose their connection, and resume.
    private static func runRelay(_ program: inout ByteProgram) {
        var configuration = RelayConfiguration()
        configuration.link.resumeLifetime = .seconds(60)
        let options = program.byte()
        if options & 1 != 0 { configuration.link.maxConnections = 2 }
        if options & 2 != 0 { configuration.link.maxLinks = 1 }
        let world = VirtualWorld(relay: configuration, seed: 1)
        world.relay.exchange = { number, message in
            let byteCount = message?.bytes.count ?? number
            switch byteCount % 5 {
            case 0: return .accepted(final: message)
            case 1: return .refused
            default:
                let challenge = Credential([UInt8](repeating: 1, count: byteCount * 40 % 4096))
                return .challenge(challenge ?? ClientHost.message)
            }
        }
        let peers = (0..<3).map { _ in Intruder(in: world) }
        peers[0].connect(options & 4 == 0 ? .reliable : .unreliable)
        for _ in 0..<maxSteps where !program.isAtEnd {
            switch program.byte() % 12 {
            case 0: wait(pauses[program.below(pauses.count)], in: world, peers)
            case 1: answer(&program, in: world)
            case let step: IntruderScript.greet(peers[Int(step) % peers.count], &program)
            }
            for peer in peers { peer.poll() }
        }
        world.relay.authenticationDelay = .zero
        wait(configuration.link.authTimeout + .seconds(1), in: world, peers)
        let isOver = peers.allSatisfy { $0.key == nil || $0.isWelcome }
        hold(isOver, "an unauthenticated peer is still connected")
    }

    private static func wait(_ duration: Duration, in world: VirtualWorld, _ peers: [Intruder]) {
        let end = world.now + duration
        while world.now < end {
            world.run(until: min(end, world.now + .seconds(1)))
            for peer in peers { peer.poll() }
        }
    }

    /// The authenticator's answers.
    private static func answer(_ program: inout ByteProgram, in world: VirtualWorld) {
        switch program.byte() % 6 {
        case 0: world.relay.authenticationDelay = .milliseconds(200)
        case 1: world.relay.authenticationDelay = .seconds(20)
        case 2: world.relay.refusals[AccountName("mallory")] = Notice(from: &program)
        case 3: world.act { $0.drain(retryAfter: .seconds(3), now: $1) }
        case 4: world.act { $0.revoke(AccountName("eve"), now: $1) }
        default:
            world.relay.authenticationDelay = .zero
            world.relay.refusals = [:]
        }
    }

    /// A client and the peer that accepts its connection.
    private static func runClient(_ program: inout ByteProgram) {
        let host = ClientHost(&program)
        for _ in 0..<maxSteps where !program.isAtEnd {
            if program.byte() % 8 == 0 {
                host.wait(pauses[program.below(pauses.count)])
            } else {
                ImpostorScript.step(host, &program)
            }
        }
        let connection = host.connection
        host.wait(.seconds(11))
        hold(host.isWelcome || host.connection == nil || host.connection != connection, "a handshake does not end")
    }
}
