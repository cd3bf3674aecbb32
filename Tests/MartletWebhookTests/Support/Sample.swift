import MartletLink
import MartletRelay
import MartletWire

extension UndeliveredReport {
    /// Two messages to bob, of which the newer one is alice's.
    static var sample: UndeliveredReport {
        let relay = RelayStamp(
            offset: 7, acceptedAt: 1_700_000_000_000, sender: AccountName("alice"), device: DeviceID(rawValue: 0xAB))
        let message = UndeliveredMessage(relay: relay, kind: .text, content: MessageContent(text: #"say "hi""#))
        return UndeliveredReport(
            room: RoomName("a/b"), log: LogID(rawValue: 42), lastOffset: 7,
            recipients: [Recipient(account: AccountName("bob"), count: 2)], message: message)
    }
}
