import MartletTransport
import Testing

@testable import Martlet

@Suite("A client's mailbox", .timeLimit(.minutes(10))) struct MailboxTests {
    @Test func `takes nothing before it is opened`() throws {
        let client = try Client(to: "martlet://127.0.0.1:1", as: .token(account: "alice", "token"))
        #expect(client.life.mailbox.post(.abandon) == .notStarted)
    }

    /// A credential is there before the thread that began the client goes on.
    @Test func `what comes before the driver's start is taken by it`() async throws {
        let loop = try EventLoop(name: "mailbox")
        let client = try Client(to: "martlet://127.0.0.1:1", as: .token(account: "alice", "token"), on: loop)
        let mailbox = client.life.mailbox
        let driver = ClientDriver(client.life, InMemoryOutbox().open())
        let statistics = OneShot<Client.Statistics>()
        let end = OneShot<Void>()
        mailbox.open(for: driver)
        #expect(mailbox.post(.statistics(statistics)) == .posted)
        #expect(mailbox.post(.stop(end)) == .posted)
        // Nothing was handed to the loop: the driver has not been started, and would trap.
        await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
        loop.execute { driver.start() }
        #expect(try await statistics.value().reconnects == 0)
        try await end.value()
        #expect(mailbox.post(.abandon) == .stopped)
        await loop.shutdown()
    }
}
