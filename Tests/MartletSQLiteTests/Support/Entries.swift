import Martlet

/// Creates the parts of transactions.
struct Entries {
    let device: DeviceID

    func id(_ counter: UInt64) -> MessageID {
        MessageID(sender: AccountName("alice"), device: device, counter: counter)
    }

    func entry(
        _ counter: UInt64, _ text: String = "hi", in room: RoomName = "a", timeToLive: Duration? = nil,
        expiresAt: UInt64? = nil, inFlightSince: UInt64? = nil
    ) -> OutboxEntry {
        OutboxEntry(
            id: id(counter), room: room, content: MessageContent(text: text), timeToLive: timeToLive,
            expiresAt: expiresAt, inFlightSince: inFlightSince)
    }

    func outcome(_ counter: UInt64, _ result: OutboxOutcome.Result, in room: RoomName = "a") -> OutboxOutcome {
        OutboxOutcome(id: id(counter), room: room, result: result)
    }

    func transaction(_ body: (inout OutboxTransaction) -> Void) -> OutboxTransaction {
        var transaction = OutboxTransaction()
        body(&transaction)
        return transaction
    }
}
