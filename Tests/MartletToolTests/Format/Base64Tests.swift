import Foundation
import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct Base64Tests {
    @Test(arguments: 0...8) func `bytes of every remainder are encoded`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 89 &+ 250) }
        #expect(base64(bytes) == Data(bytes).base64EncodedString())
    }
}
