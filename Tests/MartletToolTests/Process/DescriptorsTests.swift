import Foundation
import Testing

@testable import MartletTool

/// Each in a process of its own, since descriptors are the process's.
@Suite(.timeLimit(.minutes(10))) struct DescriptorsTests {
    @Test func `standard descriptors that are closed are taken up and stay useless`() async {
        await #expect(processExitsWith: .success) {
            let closed: [Int32] = [STDIN_FILENO, STDOUT_FILENO]
            for descriptor in closed { close(descriptor) }
            Descriptors.occupyStandard()
            let other = unsafe open("/dev/null", O_RDWR)
            #expect(other > STDERR_FILENO)
            #expect(throws: CommandError.self) { try Output.write([1], to: STDOUT_FILENO) }
            await #expect(throws: CommandError.self) { try await StandardInput().next() }
        }
    }

    @Test func `too low a limit is an error, and the limit is raised as far as the system permits`() async {
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
}
