import MartletLink
import MartletRelay
import MartletWire

/// The path between relays and the store that they share: calls in flight, answers that are lost, partitions, and the
/// bus on which the store reports changes.
///
/// A call takes effect in the store at one time, and its answer arrives at a later one. Calls overtake each other.
package final class VirtualStorePath {
    /// The behaviour of a path that is cut.
    package enum Cut: Sendable {
        /// Calls fail, also some that have taken effect.
        case fails
        /// Calls and answers wait until the path is restored.
        case waits
    }

    /// A call of a process.
    private struct Call {
        let question: StoreQuestion
        let relay: VirtualRelay
        let generation: Int
        let loop: Int
        /// The answer, after the call has taken effect.
        var answer: StoreAnswer?
    }

    private unowned let world: VirtualWorld
    private var random: SeededRandom
    /// The calls in flight, by number.
    private var calls: [Int: Call] = [:]
    private var nextNumber = 0
    /// The calls that wait for the end of a cut, in order.
    private var waiting: [Int] = []
    private var cuts: [ObjectIdentifier: Cut] = [:]
    /// The relays that receive no reports of the store.
    private var deafRelays: Set<ObjectIdentifier> = []

    /// Whether answers of calls that have taken effect are lost.
    package var losesAnswers = true

    init(_ world: VirtualWorld, seed: UInt64) {
        self.world = world
        random = SeededRandom(seed: seed ^ 0x70_61_74_68)
    }

    // MARK: - Calls

    func ask(_ question: StoreQuestion, _ relay: VirtualRelay, loop: Int) {
        calls[nextNumber] = Call(question: question, relay: relay, generation: relay.generation, loop: loop)
        advanceLater(nextNumber)
        nextNumber += 1
    }

    /// A call or an answer is on its way, for half of the delay and up to a quarter more.
    private func advanceLater(_ number: Int) {
        guard let relay = calls[number]?.relay else { return }
        let microseconds = Int(relay.storeDelay.nanoseconds / 1000)
        let delay = Duration.microseconds(microseconds / 2 + random.below(microseconds / 4 + 1))
        world.after(delay) { [unowned self] in advance(number) }
    }

    /// A call reaches the store, or its answer the relay.
    private func advance(_ number: Int) {
        guard let call = calls[number] else { return }
        switch cuts[ObjectIdentifier(call.relay)] {
        case .fails: return finish(number, with: failure(of: call))
        case .waits: return waiting.append(number)
        case nil: break
        }
        if let answer = call.answer { return finish(number, with: answer) }
        // The last calls of a process that has ended are performed or lost.
        guard call.generation == call.relay.generation || random.happens(perMille: 500) else {
            return calls[number] = nil
        }
        perform(number)
        if losesAnswers, random.happens(perMille: VirtualStorePath.lostPerMille) {
            calls[number]?.answer = failure(of: call)
        }
        advanceLater(number)
    }

    /// The share of answers that are lost after the call has taken effect.
    private static let lostPerMille = 10

    /// The call takes effect. The store reports a change.
    private func perform(_ number: Int) {
        guard let call = calls[number] else { return }
        let answer = world.store.answer(to: call.question)
        calls[number]?.answer = answer
        switch answer {
        case .append(let room, _, _, .success), .saveRoles(let room, .success):
            report(world.store.revision(of: room), except: call.relay)
        default: break
        }
    }

    private func finish(_ number: Int, with answer: StoreAnswer) {
        guard let call = calls.removeValue(forKey: number) else { return }
        world.deliver(.answered(answer, loop: call.loop), to: call.relay, generation: call.generation)
    }

    // MARK: - Bus

    /// Reports a change to the other relays. Each report may be lost, repeated or late.
    private func report(_ revision: RoomRevision, except relay: VirtualRelay) {
        for other in world.relays where other !== relay {
            guard !random.happens(perMille: 100) else { continue }
            for _ in 0...(random.happens(perMille: 100) ? 1 : 0) {
                let delay = Duration.milliseconds(random.below(random.below(8) == 0 ? 5000 : 30))
                world.after(delay) { [unowned self] in
                    guard !deafRelays.contains(ObjectIdentifier(other)) else { return }
                    world.deliver(.changed(revision), to: other, generation: other.generation)
                }
            }
        }
    }

    // MARK: - Faults

    /// Cuts the path of a relay. Some of its calls in flight take effect, and are answered or fail.
    func cut(_ number: Int, _ cut: Cut) {
        let relay = world.relays[number]
        cuts[ObjectIdentifier(relay)] = cut
        for number in calls.keys.sorted() where calls[number]?.relay === relay && random.below(2) == 0 {
            guard let call = calls[number], !waiting.contains(number) else { continue }
            if call.answer == nil, random.below(2) == 0 { perform(number) }
            let isAnswered = random.below(2) == 0
            finish(number, with: calls[number]?.answer.flatMap { isAnswered ? $0 : nil } ?? failure(of: call))
        }
    }

    private func failure(of call: Call) -> StoreAnswer { world.store.failure(of: call.question) }

    /// Restores the path of a relay. Waiting calls continue in order.
    func restore(_ number: Int) {
        let relay = world.relays[number]
        cuts[ObjectIdentifier(relay)] = nil
        let all = waiting
        waiting = all.filter { calls[$0]?.relay !== relay }
        for number in all where calls[number]?.relay === relay { advance(number) }
    }

    /// The reports of the store do not reach a relay, or reach it again.
    func setDeaf(_ number: Int, _ isDeaf: Bool) {
        let relay = ObjectIdentifier(world.relays[number])
        if isDeaf { deafRelays.insert(relay) } else { deafRelays.remove(relay) }
    }
}
