import MartletLink
import MartletRelay
import MartletWire

/// The bus between the relays of a world: it loses, repeats and delays datagrams, which overtake each other, and the
/// path between two relays can be cut.
package final class VirtualBus {
    private unowned let world: VirtualWorld
    private var random: SeededRandom
    /// The pairs of relays between which no datagrams pass.
    private var cuts: Set<[Int]> = []
    /// Whether datagrams are lost, repeated and late.
    package var isUnreliable = true

    init(_ world: VirtualWorld, seed: UInt64) {
        self.world = world
        random = SeededRandom(seed: seed ^ 0x62_75_73)
        for relay in world.relays { beat(relay, after: .zero) }
    }

    private func beat(_ relay: VirtualRelay, after delay: Duration) {
        world.after(delay) { [unowned self] in
            if world.isUp(relay) { world.deliver(.beat, to: relay, generation: relay.generation) }
            beat(relay, after: BusPeers.beatInterval)
        }
    }

    /// Sends a datagram to all other relays.
    func transmit(_ datagram: [UInt8], from relay: VirtualRelay) {
        guard let sender = number(relay) else { return }
        for (receiver, other) in world.relays.enumerated() where other !== relay {
            guard !cuts.contains([sender, receiver].sorted()) else { continue }
            guard !isUnreliable || !random.happens(perMille: 50) else { continue }
            for _ in 0...(isUnreliable && random.happens(perMille: 50) ? 1 : 0) {
                let isLate = isUnreliable && random.below(16) == 0
                let delay = Duration.microseconds(isLate ? random.below(2_000_000) : 500)
                world.after(delay) { [unowned self] in
                    guard world.isUp(other) else { return }
                    world.deliver(.datagram(datagram), to: other, generation: other.generation)
                }
            }
        }
    }

    private func number(_ relay: VirtualRelay) -> Int? { world.relays.firstIndex { $0 === relay } }

    /// Cuts the path between two relays, or restores it.
    package func setCut(_ one: Int, _ other: Int, _ isCut: Bool) {
        if isCut { cuts.insert([one, other].sorted()) } else { cuts.remove([one, other].sorted()) }
    }

    /// All datagrams arrive from now on, once and in order.
    package func heal() {
        cuts = []
        isUnreliable = false
    }
}
