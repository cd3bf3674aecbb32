import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct SoakFiguresTests {
    @Test func `the drift is the difference between the end and the beginning, without peaks`() {
        var course = SoakFigures.Course()
        #expect(course.drift == 0)
        for value in [10, 11, 90, 10, 12, 13, 12, 11, 14, 99, 14, 15] { course.add(value) }
        #expect(course.drift == 4)
    }
}
