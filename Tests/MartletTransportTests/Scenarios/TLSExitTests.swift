import Glibc
import MartletToolTestSupport
import Synchronization
import Testing

@testable import MartletTransport

/// Each test runs in a process of its own, which it ends.
@Suite(.timeLimit(.minutes(10)))
struct TLSExitTests {
    @Test(arguments: 1...10)
    func `exit while four threads use TLS → the process ends without a fault`(_ number: Int) async {
        await #expect(processExitsWith: .success) {
            let certificates = TestCertificates.shared
            for thread in 1...4 {
                _ = startThread(named: "tls-\(thread)") {
                    while let pair = try? TLSPair(
                        client: TLSClientOptions(trust: .file(certificates.authority.certificateFile)),
                        server: TLSServerOptions(identity: certificates.server))
                    {
                        pair.exchange()
                        handshakeCount.add(1, ordering: .relaxed)
                    }
                }
            }
            while !Task.isCancelled, handshakeCount.load(ordering: .relaxed) < 8 { await Task.yield() }
            exit(0)
        }
    }
}

private let handshakeCount = Atomic(0)
