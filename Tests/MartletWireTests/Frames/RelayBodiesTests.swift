import MartletWire
import Testing

@Suite("Relay bodies")
struct RelayBodiesTests {
    // W-61
    @Test("consecutive bodies equal those that are encoded separately")
    func row() {
        let client = Message.encodeClient(counter: 3, kind: .text, content: Message.textContent("hello"))
        var bodies = RelayBodies()
        for (sender, device) in [(ada, 9), (noor, 2)] as [(AccountName, UInt64)] {
            let device = DeviceID(rawValue: device)
            bodies.begin(acceptedAt: 8, sender: sender, device: device)
            let message = ClientMessage(counter: 3, body: client.rawBytes, layout: .text)
            var expected: [UInt8] = []
            for offset in [7, 8, .max] as [UInt64] {
                bodies.append(offset: offset, message)
                expected += Message.encodeRelay(
                    offset: offset, acceptedAt: 8, sender: sender, device: device, clientBody: client.rawBytes)
            }
            #expect(bodies.bytes == expected)
            #expect(bodies.bytes.count == 3 * (bodies.stampByteCount + client.count))
        }
    }

    @Test("an offset of 0 traps")
    func misuse() async {
        await #expect(processExitsWith: .failure) {
            var bodies = RelayBodies()
            bodies.append(offset: 1, ClientMessage(counter: 1, body: RawSpan(), layout: .unknown))
        }
        await #expect(processExitsWith: .failure) {
            var bodies = RelayBodies()
            bodies.begin(acceptedAt: 1, sender: ada, device: DeviceID(rawValue: 1))
            bodies.append(offset: 0, ClientMessage(counter: 1, body: RawSpan(), layout: .unknown))
        }
    }
}
