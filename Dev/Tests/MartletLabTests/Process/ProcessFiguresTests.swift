import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct ProcessFiguresTests {
    private let status = "Name:\ta (b) c\nVmHWM:\t 9000 kB\nVmRSS:\t  2048 kB\nThreads:\t7\n"
    private let stat = "42 (a (b) c) S 1 42 42 0 -1 4194304 1 2 3 4 250 50 0 0 20 0 7 0 100 0 0"

    @Test func `the text of Linux about a process → its figures`() throws {
        let figures = try #require(
            ProcessFigures(status: status, stat: stat, descriptorCount: 5, ticksPerSecond: 100))
        #expect(figures.residentByteCount == 2048 * 1024)
        #expect(figures.threadCount == 7)
        #expect(figures.descriptorCount == 5)
        #expect(figures.processorTime == .seconds(3))
    }

    @Test func `an invalid text → no figures`() {
        #expect(ProcessFigures(status: "", stat: stat, descriptorCount: 0, ticksPerSecond: 100) == nil)
        #expect(ProcessFigures(status: status, stat: "42 (a) S 1", descriptorCount: 0, ticksPerSecond: 100) == nil)
        #expect(ProcessFigures(of: -1) == nil)
    }
}
