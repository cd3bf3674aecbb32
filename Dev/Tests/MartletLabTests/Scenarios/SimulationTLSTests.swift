import Foundation
import MartletSimulator
import MartletToolSupport
import Testing

/// Simulations whose carriers use TLS (C-65).
@Suite struct SimulationTLSTests {
    private static let certificates = Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-simulation-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try VirtualTLS(folder: folder.path)
    }

    private func scenario(_ seed: UInt64) -> Scenario {
        var scenario = Scenario(seed: seed)
        scenario.isReliable = true
        return scenario
    }

    @Test(arguments: UInt64(1)...12)
    func `seed over TLS -> no violation, sessions are resumed, and twice the same trace`(seed: UInt64) throws {
        let tls = try Self.certificates.get()
        let result = Simulation.run(scenario(seed), tls: tls)
        #expect(result.violations.isEmpty)
        #expect(result.handshakeCount > 0 && result.handshakeCount <= result.connectionCount)
        #expect(result.resumptionCount > 0 && result.resumptionCount < result.handshakeCount)
        if seed <= 4 { #expect(Simulation.run(scenario(seed), tls: tls).traceHash == result.traceHash) }
    }

    @Test func `seed without order -> no TLS`() throws {
        let result = Simulation.run(Scenario(seed: 1), tls: try Self.certificates.get())
        #expect(result.violations.isEmpty && result.handshakeCount == 0)
    }
}
