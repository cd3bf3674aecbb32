import MartletTransport
import Testing

@testable import MartletToolSupport

@Suite struct ListenAddressTests {
    @Test(arguments: [("127.0.0.1:80", "127.0.0.1:80"), ("[::1]:0", "[::1]:0"), ("7227", "127.0.0.1:7227")])
    func `a text → its address`(text: String, address: String) {
        #expect(ListenAddress.parse(text)?.description == address)
    }

    @Test(arguments: ["", "localhost:80", "1.2.3.4", "70000", "-1", "::1:80"])
    func `an invalid text → no address`(text: String) {
        #expect(ListenAddress.parse(text) == nil)
    }
}
