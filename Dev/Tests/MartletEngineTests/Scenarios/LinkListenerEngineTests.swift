import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// The links of a listener without rooms, from their begin to their release.
@Suite struct LinkListenerEngineTests {
    @Test func `messages for a device without a connection -> the end does not wait for them`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        #expect(stage.call(.send([1], on: session), on: link) == .done)
        #expect(!stage.isFlushed, "the device has not acknowledged it")
        peer.cut()
        #expect(stage.isFlushed)
    }

    @Test func `the application drops a link -> the device is sent a goaway, and no state remains`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        stage.engine.releaseLink(link, now: stage.now)
        stage.settle()
        #expect(peer.farewell == .serverBusy)
        #expect(stage.linkCount == 0)
        #expect(stage.call(.accept, on: link) == .failed(.linkEnded))
    }

    @Test func `a link that has ended -> it is kept until the application drops it`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.say(GoAway(Notice(code: .none)))
        #expect(stage.linkCount == 1)
        stage.engine.releaseLink(link, now: stage.now)
        #expect(stage.linkCount == 0)
    }

    @Test func `a call for a link that is cancelled -> the next link is not lost`() throws {
        let stage = ListenerStage()
        stage.engine.takeLink(CallID(100))
        stage.engine.takeLink(CallID(101))
        stage.engine.cancel(CallID(100), on: nil)
        stage.settle()
        #expect(stage.results[CallID(100)] == .cancelled)
        try #require(stage.connect()).greet()
        guard case .link = stage.results[CallID(101)] else {
            Issue.record("the link was not taken")
            return
        }
    }
}
