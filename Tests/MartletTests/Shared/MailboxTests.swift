import MartletTransport
import MartletWire
import Testing

@testable import Martlet

@Suite("Mailbox of a client", .timeLimit(.minutes(10))) struct MailboxTests {
    @Test func `a mailbox answers notStarted to a command before it is opened`() throws {
        let client = try Client(to: "martlet://127.0.0.1:1", as: .token(account: "alice", "token"))
        #expect(client.life.mailbox.post(.abandon) == .notStarted)
    }

    /// A credential can arrive before the driver has started.
    @Test func `commands before the start of the driver are performed after its start`() async throws {
        let loop = try EventLoop(name: "mailbox")
        let client = try Client(to: "martlet://127.0.0.1:1", as: .token(account: "alice", "token"), on: loop)
        let mailbox = client.life.mailbox
        let driver = ClientDriver(client.life, InMemoryOutbox().open())
        let metrics = Promise<ClientMetrics>()
        let end = Promise<Void>()
        mailbox.open(for: driver)
        #expect(mailbox.post(.metrics(metrics)) == .posted)
        #expect(mailbox.post(.stop(end)) == .posted)
        // The loop has no job for the driver, which would trap before its start.
        await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
        loop.execute { driver.start() }
        #expect(try await metrics.value().reconnects == 0)
        try await end.value()
        #expect(mailbox.post(.abandon) == .stopped)
        await loop.shutdown()
    }

    @Test func `commands behind stop in the same batch are performed or refused`() async throws {
        let loop = try EventLoop(name: "mailbox")
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero
        let client = try Client(
            to: "martlet://127.0.0.1:1", as: .token(account: "alice", "token"), configuration: configuration, on: loop)
        let mailbox = client.life.mailbox
        let driver = ClientDriver(client.life, InMemoryOutbox().open())
        let open = Promise<RoomCore>()
        mailbox.open(for: driver)
        mailbox.post(.open(RoomName("lobby"), .offline, open))
        loop.execute { driver.start() }
        let room = try await open.value()
        // All commands are posted before the loop takes them.
        let ends = (stop: Promise<Void>(), close: Promise<Void>(), again: Promise<Void>())
        let behind = (
            open: Promise<RoomCore>(), cancel: Promise<Bool>(), metrics: Promise<ClientMetrics>(),
            request: Promise<Answer>()
        )
        let call = RequestCall(
            method: try #require(MethodName("ping")), content: nil, recipient: nil, deadline: .seconds(3600),
            promise: behind.request)
        let other = RoomName("other")
        loop.execute {
            mailbox.post(.stop(ends.stop))
            mailbox.post(.close(room, ends.close))
            mailbox.post(.open(other, .offline, behind.open))
            mailbox.post(.cancel(room, counter: 1, behind.cancel))
            mailbox.post(.metrics(behind.metrics))
            mailbox.post(.request(room, call))
            mailbox.post(.stop(ends.again))
        }
        for end in [ends.stop, ends.close, ends.again] { try await end.value() }
        await #expect(throws: MartletError.stopped) { _ = try await behind.open.value() }
        await #expect(throws: MartletError.stopped) { _ = try await behind.request.value() }
        #expect(try await !behind.cancel.value())
        #expect(try await behind.metrics.value().traffic.framesSent == 0)
        await loop.shutdown()
    }
}
