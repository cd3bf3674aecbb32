import Foundation
import Martlet
import MartletAuthentication
import MartletLink
import MartletRelay
import MartletTransport
import MartletWire

/// A short conversation with a frame of every type, for a capture.
///
/// All parts run in this process: a relay, a proxy without faults, and four clients. The relay keeps a few messages of
/// one room, refuses one account, and requires a password of another. Each step waits for its result. On a slow machine
/// a peer may receive nothing for seconds; its link then resumes on a second connection.
struct DemoTour: Sendable {
    private static let room = "tour"
    /// The account that the relay refuses.
    private static let refusedAccount = "mallory"
    /// The account that signs in by a password.
    private static let passwordAccount = "carl"
    private static let password = "open sesame"
    /// The number of messages in the store before the conversation. The store keeps fewer, so a late member receives a
    /// gap.
    private static let storedCount = 5
    private static let keptCount = 3
    /// The timeout of each request. It allows for machines that are busy for minutes.
    private static let timeout = Duration.seconds(300)

    /// The capture of the conversation.
    let capture: CaptureFile

    private struct AuthenticatorStub: Authenticator {
        let passwords: SCRAMAuthenticator

        init() throws {
            let salt = Array(1...UInt8(SCRAMLimits.recordSaltByteCount))
            var file = PasswordFile()
            try file.add(
                DemoTour.passwordAccount,
                SCRAMRecord(
                    password: DemoTour.password, salt: salt, iterations: SCRAMLimits.iterationCount.lowerBound))
            passwords = SCRAMAuthenticator(passwordFile: file, allowsPlaintext: true)
        }

        func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
            if request.account.text == DemoTour.refusedAccount { throw AuthenticationFailure.unauthenticated }
            return Identity(request.account)
        }

        func exchange(for request: AuthenticationRequest) throws -> (any AuthenticationExchange)? {
            try passwords.exchange(for: request)
        }
    }

    /// Returns a store with messages that fails for other rooms.
    private func store() throws -> any RoomStore {
        let store = InMemoryStore(maxMessagesPerRoom: Self.keptCount)
        guard let room = RoomName(Self.room) else { return store }
        let dora: AccountName = "dora"
        let device = DeviceID(rawValue: 1)
        let entries = (1...UInt64(Self.storedCount)).map { number in
            let clientBody = Message.encodeClient(
                counter: number, kind: .text, content: Message.textContent("earlier message"))
            let body = Message.encodeRelay(
                offset: number, acceptedAt: number, sender: dora, device: device, clientBody: clientBody.rawBytes)
            return LogEntry(
                offset: number, sender: dora, device: device, counter: number, acceptedAt: number,
                body: EncodedBody(body))
        }
        _ = store.load(room)
        try store.append(entries, to: room)
        return DemoStore(store, of: room)
    }

    /// Runs the conversation.
    func run() async throws {
        let (refusals, refusal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let relay = Relay(
            configuration: Relay.Configuration(addresses: [SocketAddress(.loopbackV4, port: 0)]),
            store: try store(), authenticator: try AuthenticatorStub(), policy: .allowAll
        ) { if case .storeFailed = $0 { refusal.yield() } }
        let port = try relay.start().first?.port ?? 0
        let proxy = try WeakProxy(
            listenOn: SocketAddress(.loopbackV4, port: 0),
            to: try Endpoint(host: "127.0.0.1", port: port, security: .plain), profile: WeakLinkProfile(), seed: 1,
            capture: capture)
        var failure: (any Error)?
        do { try await converse(at: "martlet://127.0.0.1:\(proxy.port)", refusals) } catch { failure = error }
        _ = await proxy.stop()
        await relay.shutdown()
        if let failure { throw failure }
    }

    private func converse(at relay: String, _ refusals: AsyncStream<Void>) async throws {
        try await withClient(Client(to: relay, as: .anonymous("ben"))) { ben in
            let room = try await ben.open(room: Self.room)
            let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            async let answers: Void = answer(room, arrival)
            var configuration = Client.Configuration()
            configuration.compressesMessages = true
            try await withClient(Client(to: relay, as: .anonymous("ada"), configuration: configuration)) { ada in
                try await joinRoom(ada)
                try await exchangeFrames(ada, ben: room, arrivals)
                try await openRefusedRoom(ada, refusals)
            }
            configuration.allowsPlaintext = true
            let carl = Credentials.password(account: Self.passwordAccount, Self.password)
            try await withClient(Client(to: relay, as: carl, configuration: configuration)) {
                try await readAfterGap($0)
            }
            await room.close()
            try await answers
        }
        _ = try? await withClient(Client(to: relay, as: .anonymous(Self.refusedAccount))) {
            try await $0.open(room: Self.room)
        }
    }

    /// Answers requests for the time, and reports other requests without an answer.
    private func answer(_ room: Room, _ arrival: AsyncStream<Void>.Continuation) async throws {
        var unanswered: [RoomRequest] = []
        for await request in room.requests {
            if request.method == "time" {
                try request.respond(text: "noon")
            } else {
                unanswered.append(request)
                arrival.yield()
            }
        }
    }

    /// Sends a request that is not answered, and cancels it after its arrival.
    private func cancelRequest(_ room: Room, _ arrivals: AsyncStream<Void>) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { _ = try await room.request("wait", to: "ben", timeout: Self.timeout) }
            group.addTask { for await _ in arrivals { break } }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Joins the room, and waits for the update of the account's rooms.
    private func joinRoom(_ ada: Client) async throws {
        var updates = ada.roomUpdates.makeAsyncIterator()
        _ = await updates.next()
        try await ada.join(room: Self.room, timeout: Self.timeout)
        _ = await updates.next()
    }

    /// Exchanges messages, one of them in fragments, receipts, typing and requests; then suspend and resume, and a
    /// ping.
    private func exchangeFrames(_ ada: Client, ben: Room, _ arrivals: AsyncStream<Void>) async throws {
        let room = try await ada.open(room: Self.room)
        room.setTyping(true)
        _ = try await room.send("hello").accepted()
        let longText = (0..<4_000).map { "number \($0 &* $0), " }.joined()
        let offset = try await room.send(longText).accepted()
        for try await message in ben.messages where message.offset == offset { break }
        ben.markRead(upTo: offset)
        _ = try await room.request("time", to: "ben", timeout: Self.timeout)
        try await cancelRequest(room, arrivals)
        room.suspend()
        _ = try await room.request("head", timeout: Self.timeout)
        room.resume()
        ada.enterBackground()
        _ = try await room.request("head", timeout: Self.timeout)
        ada.enterForeground()
        _ = try await room.request("head", timeout: Self.timeout)
        await room.close()
    }

    /// Opens a room for which the store fails.
    private func openRefusedRoom(_ ada: Client, _ refusals: AsyncStream<Void>) async throws {
        let room = try await ada.open(room: "unavailable", options: Room.Options(waitsForRelay: false))
        for await _ in refusals { break }
        await room.close()
    }

    /// Opens the room with a cursor whose next messages are no longer kept, and reads a message.
    private func readAfterGap(_ carl: Client) async throws {
        let room = try await carl.open(room: Self.room, options: Room.Options(from: .cursor(1)))
        for try await _ in room.messages { break }
    }
}
