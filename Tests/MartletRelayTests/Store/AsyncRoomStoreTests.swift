import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite struct AsyncRoomStoreTests {
    /// A store of the required methods only.
    private struct SmallStore: AsyncRoomStore {
        struct Fault: Error {}

        func load(_ room: RoomName) async throws -> RoomSnapshot { RoomSnapshot(lastOffset: 7) }

        func append(_ append: RoomAppend) async throws -> UInt64 { throw RoomStoreError.logLost }

        func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory { throw Fault() }
    }

    private let store = SmallStore()

    /// The error of a call; nil if it succeeds.
    private func error<Value: Sendable>(
        _ call: (RoomStoreReply<Value>) -> RoomStoreCall
    ) async -> RoomStoreError? {
        do throws(RoomStoreError) {
            _ = try await store.call(call)
            return nil
        } catch {
            return error
        }
    }

    @Test func `results and errors of the methods → in the replies`() async throws {
        #expect(try await store.call { .load("lobby", $0) }.lastOffset == 7)
        let entry = LogEntry(
            offset: 8, sender: "ada", device: DeviceID(rawValue: 1), counter: 1, acceptedAt: 1, body: EncodedBody([]))
        let lost = await error { .append(RoomAppend(room: "lobby", entries: [entry]), $0) }
        #expect("\(try #require(lost))" == "logLost")
        let fault = await error { .read(ReadRange(from: 1, maxCount: 1, maxByteCount: 1), of: "lobby", $0) }
        #expect(fault?.cause is SmallStore.Fault)
    }

    @Test func `calls without a method of the store → nothing, or unsupported`() async throws {
        #expect(store.features.isEmpty && store.retention == RoomRetention())
        #expect(await error { .saveProgress([:], of: "lobby", $0) } == nil)
        #expect(await error { .touch(["lobby"], $0) } == nil)
        for refusal in [
            await error { .saveRoles([], of: "lobby", replacing: 0, creation: nil, $0) },
            await error { .saveMemberships([:], of: "lobby", $0) },
            await error { .readMemberships(.names, of: "ada", $0) },
        ] {
            #expect("\(try #require(refusal))" == "unsupported")
        }
    }
}
