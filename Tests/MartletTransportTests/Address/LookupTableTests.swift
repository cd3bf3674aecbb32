import Testing

@testable import MartletTransport

@Suite struct LookupTableTests {
    private func table(threads: Int, names: Int = 64, requests: Int = 100) -> LookupTable<String> {
        LookupTable(maxThreadCount: threads, maxQueuedNameCount: names, maxRequestCount: requests)
    }

    @Test func `requests for one name occupy one thread and complete together in order`() {
        var table = table(threads: 2)
        #expect(table.add("first", number: 1, for: "slow") == .needsThread)
        #expect(table.next() == "slow")
        #expect(table.add("second", number: 2, for: "slow") == .queued)
        #expect(table.add("other", number: 3, for: "fast") == .needsThread)
        #expect(table.next() == "fast")
        #expect(table.ended("slow", isFailure: false) == ["first", "second"])
        #expect(table.next() == nil)
        #expect(table.ended("fast", isFailure: false) == ["other"])
    }

    @Test func `cancellation of its last request removes a queued name`() {
        var table = table(threads: 1)
        #expect(table.add("a", number: 1, for: "slow") == .needsThread)
        #expect(table.next() == "slow")
        #expect(table.add("b", number: 2, for: "abandoned") == .queued)
        #expect(table.add("c", number: 3, for: "abandoned") == .queued)
        #expect(table.add("d", number: 4, for: "wanted") == .queued)
        #expect(table.cancel(number: 2, for: "abandoned") == "b")
        #expect(table.cancel(number: 3, for: "abandoned") == "c")
        #expect(table.cancel(number: 3, for: "abandoned") == nil)
        #expect(table.ended("slow", isFailure: false) == ["a"])
        #expect(table.next() == "wanted")
    }

    @Test func `request for a running name without requests joins its lookup`() {
        var table = table(threads: 2)
        #expect(table.add("a", number: 1, for: "slow") == .needsThread)
        #expect(table.next() == "slow")
        #expect(table.cancel(number: 1, for: "slow") == "a")
        #expect(table.add("b", number: 2, for: "slow") == .queued)
        #expect(table.ended("slow", isFailure: false) == ["b"])
    }

    @Test func `names that failed leave the last thread to others`() {
        var table = table(threads: 2)
        for (number, name) in [(UInt64(1), "dead-1"), (2, "dead-2")] {
            #expect(table.add(name, number: number, for: name) == .needsThread)
            #expect(table.next() == name)
        }
        for name in ["dead-1", "dead-2"] { #expect(table.ended(name, isFailure: true) == [name]) }
        #expect(table.next() == nil)
        #expect(table.next() == nil)
        #expect(table.add("again", number: 3, for: "dead-1") == .needsThread)
        #expect(table.next() == "dead-1")
        #expect(table.add("again", number: 4, for: "dead-2") == .queued)
        #expect(table.add("new", number: 5, for: "alive") == .needsThread)
        #expect(table.next() == "alive")
        #expect(table.ended("alive", isFailure: false) == ["new"])
        #expect(table.next() == nil)
        #expect(table.ended("dead-1", isFailure: false) == ["again"])
        #expect(table.next() == "dead-2")
    }

    @Test func `failed name is looked up again with a single thread`() {
        var table = table(threads: 1)
        for number in UInt64(1)...3 {
            #expect(table.add("a", number: number, for: "dead") == .needsThread)
            #expect(table.next() == "dead")
            #expect(table.ended("dead", isFailure: true) == ["a"])
            #expect(table.next() == nil)
        }
    }

    @Test func `names and requests beyond their bounds are refused`() {
        var table = table(threads: 1, names: 1, requests: 3)
        #expect(table.add("a", number: 1, for: "running") == .needsThread)
        #expect(table.next() == "running")
        #expect(table.add("b", number: 2, for: "queued") == .queued)
        #expect(table.add("c", number: 3, for: "beyond") == .refused)
        #expect(table.add("d", number: 4, for: "queued") == .queued)
        #expect(table.add("e", number: 5, for: "queued") == .refused)
        #expect(table.ended("running", isFailure: false) == ["a"])
        #expect(table.next() == "queued")
        #expect(table.ended("queued", isFailure: false) == ["b", "d"])
    }

    @Test func `cancelled request frees capacity for another`() {
        var table = table(threads: 1, requests: 2)
        #expect(table.add("a", number: 1, for: "running") == .needsThread)
        #expect(table.next() == "running")
        #expect(table.add("b", number: 2, for: "queued") == .queued)
        #expect(table.add("c", number: 3, for: "queued") == .refused)
        #expect(table.cancel(number: 2, for: "queued") == "b")
        #expect(table.add("d", number: 4, for: "queued") == .queued)
        #expect(table.cancel(number: 1, for: "running") == "a")
        #expect(table.add("e", number: 5, for: "running") == .queued)
        #expect(table.add("f", number: 6, for: "running") == .refused)
    }

    @Test func `failed thread start completes the queue when no thread is left`() {
        var table = table(threads: 2)
        #expect(table.add("a", number: 1, for: "first") == .needsThread)
        #expect(table.add("b", number: 2, for: "second") == .needsThread)
        #expect(table.threadFailed() == [])
        #expect(table.threadFailed() == ["a", "b"])
        #expect(table.add("c", number: 3, for: "first") == .needsThread)
    }
}
