import Testing

@testable import MartletLab
@testable import MartletToolSupport

@Suite struct WeaknetCommandTests {
    private func profile(_ words: String...) throws(UsageError) -> WeakLinkProfile {
        var parser = ArgumentParser(for: WeaknetCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return try WeaknetCommand.profile(arguments)
    }

    @Test func `the options determine the profile`() throws {
        let profile = try profile(
            "--to", "localhost:80", "--delay", "200", "--jitter=50", "--bandwidth", "64K", "--stall-every", "5",
            "--stall-for", "500ms", "--black-hole-at", "3", "--black-hole-for", "5", "--cut-every", "7",
            "--cut-after-bytes", "10K", "--max-cuts", "12", "--corrupt-one-in", "100000")
        #expect(
            profile
                == WeakLinkProfile(
                    delay: .milliseconds(200), jitter: .milliseconds(50), bytesPerSecond: 65_536,
                    stallEvery: .seconds(5),
                    stallFor: .milliseconds(500), blackHoleAt: .seconds(3), blackHoleFor: .seconds(5),
                    cutEvery: .seconds(7), cutAfterByteCount: 10_240, maxCutCount: 12, corruptOneIn: 100_000))
    }

    @Test func `an option without its counterpart is refused`() {
        #expect(throws: UsageError.self) { try profile("--stall-every", "5") }
        #expect(throws: UsageError.self) { try profile("--stall-every", "5", "--stall-for", "5") }
        #expect(throws: UsageError.self) { try profile("--black-hole-for", "5") }
    }
}
