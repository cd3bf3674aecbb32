import Testing

@testable import MartletAuthentication

@Suite struct ChannelBindingTests {
    @Test func `each channel binding has its GS2 header`() {
        #expect(ChannelBinding.none.input == Array("n,,".utf8))
        #expect(ChannelBinding.unsupportedByServer.input == Array("y,,".utf8))
        let exporter = SCRAMExchange.exporter
        #expect(ChannelBinding.tlsExporter(exporter).header == Array("p=tls-exporter,,".utf8))
        #expect(ChannelBinding.tlsExporter(exporter).input == Array("p=tls-exporter,,".utf8) + exporter)
    }

    @Test(arguments: [0, 12, 31, 33])
    func `an exporter without 32 bytes is refused by client and server`(_ count: Int) {
        let exporter = [UInt8](repeating: 1, count: count)
        #expect(throws: SCRAMError.invalidExporter) {
            try SCRAMVector.client(channelBinding: .tlsExporter(exporter))
        }
        #expect(throws: SCRAMError.invalidExporter) {
            try SCRAMVector.server(binding: .required(exporter: exporter))
        }
    }
}
