import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct RoomRestTests {
    private let now = Instant(nanoseconds: 1_000_000_000)

    private func request(_ name: String, slot: Int32) -> JoinRequest {
        let key = MemberKey(link: LinkKey(slot: slot, generation: 9, loop: 2), session: .first)
        return JoinRequest(
            member: key, who: RoomScript.who(name), open: Open(room: .lobby, cursor: 0, noLocal: slot == 2))
    }

    /// A room of the store's that members have come to and left.
    private func room() -> Room {
        var effects = Deque<RoomEffect>()
        var room = Room(name: .lobby, index: 3, loop: 5)
        let known = [RoomScript.who("alice"): UInt64(17), RoomScript.who("carol/2"): 1 << 40]
        _ = room.loaded(RoomSnapshot(head: 40, first: 12, watermarks: known))
        for (slot, name) in ["dave", "alice/7", "bob", "alice"].enumerated() {
            let request = request(name, slot: Int32(slot))
            room.join(request, into: &effects)
            room.read(MemberHandle(room: 3, slot: Int32(slot), key: request.member), [], first: 12, into: &effects)
        }
        let dave = MemberHandle(room: 3, slot: 0, key: request("dave", slot: 0).member)
        let bob = MemberHandle(room: 3, slot: 2, key: request("bob", slot: 2).member)
        room.leave(dave, into: &effects)
        room.setAway(true, bob)
        room.seek(bob, to: 30)
        room.progressed(bob, Receipt.Progress(.read, upTo: 20), into: &effects)
        room.flush(now: .zero, into: &effects)
        room.wasTouched = false
        return room
    }

    @Test func `a room that has seen much comes back as it was`() {
        var room = room()
        let mayRest = room.mayRest()
        #expect(mayRest)
        let (back, byteCount) = Packer.copy(&room)
        #expect(byteCount < 160)
        let names = [
            "name", "index", "loop", "first", "head", "durable", "memberCount", "slotsOfAccount", "marks",
            "chargedByteCount", "progress", "nextCorrelation", "isLoading",
        ]
        for name in names {
            #expect(part(name, of: room) == part(name, of: back), "\(name)")
        }
        #expect(room.members.slots == back.members.slots && room.members.nextSlot == back.members.nextSlot)
        for slot in room.members.slots {
            #expect(room.members.find(slot).map { parts(of: $0) } == back.members.find(slot).map { parts(of: $0) })
        }
        #expect(back.presence(of: .named("bob")) == .away && back.presence(of: .named("alice")) == .online)
    }

    private func part(_ name: String, of room: Room) -> String? {
        Mirror(reflecting: room).children.first { $0.label == name }.map { parts(of: $0.value) }
    }

    /// Whoever adds a member decides what becomes of it at rest: `pass`, or a condition of `mayRest`.
    @Test func `every member is passed or keeps a room from rest`() {
        let room = room()
        #expect(Mirror(reflecting: room).children.count == 32)
        #expect(room.members.find(1).map { Mirror(reflecting: $0).children.count } == 16)
        #expect(Mirror(reflecting: room.marks).children.count == 4)
        #expect(Mirror(reflecting: room.marks[0]).children.count == 4)
    }

    @Test func `a room that was touched, or with messages in memory, is left as it is`() throws {
        var effects = Deque<RoomEffect>()
        var draft = RoomDraft()
        var room = room()
        room.wasTouched = true
        var answers = [room.mayRest(), room.mayRest()]
        let alice = MemberHandle(room: 3, slot: 3, key: request("alice", slot: 3).member)
        let body = Message.encodeClient(counter: 99, kind: .text, content: Message.textContent("hello"))
        let message = ClientMessage(counter: 99, body: body.rawBytes, layout: .text)
        room.post(alice, message, acceptedAt: 1, draft: &draft, into: &effects)
        answers.append(room.mayRest())
        room.take(&draft)
        room.flush(now: .zero, into: &effects)
        answers.append(room.mayRest())
        room.stored(upTo: 41, into: &effects)
        room.flush(now: .zero, into: &effects)
        answers.append(room.mayRest())
        #expect(answers == [false, true, false, false, false])
    }
}
