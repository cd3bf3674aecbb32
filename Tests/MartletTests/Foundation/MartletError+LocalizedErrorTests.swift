import Foundation
import Martlet
import Testing

@Suite("Localized errors")
struct MartletErrorLocalizedErrorTests {
    @Test func `the localized description of an error is its description`() {
        let error: any Error = MartletError.messageTooLarge(byteCount: 2, limit: 1)
        #expect(error.localizedDescription == "the content has 2 bytes; the limit is 1")
    }
}
