import Foundation
import Testing

@testable import MartletToolSupport

/// Each test runs in a separate process, because it changes the descriptors.
@Suite(.timeLimit(.minutes(10))) struct DescriptorsTests {
    @Test func `closed standard descriptors → occupied, and reading and writing fail`() async {
        await #expect(processExitsWith: .success) {
            let closed: [Int32] = [STDIN_FILENO, STDOUT_FILENO]
            for descriptor in closed { close(descriptor) }
            Descriptors.occupyStandard()
            let other = unsafe open("/dev/null", O_RDWR)
            #expect(other > STDERR_FILENO)
            #expect(throws: CommandError.self) { try Output.write([1], to: STDOUT_FILENO) }
            var byte: UInt8 = 0
            #expect(unsafe read(STDIN_FILENO, &byte, 1) < 0)
        }
    }

    @Test func `a limit below the minimum → an error; raising → the maximum of the system`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            #expect(unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let permitted = limit.rlim_max
            limit.rlim_cur = 31
            #expect(unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0)
            #expect(
                throws: CommandError(.failure, "this process may have 31 descriptors; it needs 32 (ulimit -n)")
            ) { try Descriptors.checkLimit() }
            #expect(Descriptors.raiseLimit() == Int(clamping: permitted))
            #expect(throws: Never.self) { try Descriptors.checkLimit() }
        }
    }

    #if os(Linux)
        @Test func `a system without the files about processes → an error in place of a trap`() throws {
            try Descriptors.checkProcessFiles()
            #expect(throws: CommandError.self) { try Descriptors.checkProcessFiles(at: "/none/self/stat") }
        }
    #endif
}
