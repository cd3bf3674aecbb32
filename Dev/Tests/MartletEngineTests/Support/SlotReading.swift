@testable import MartletLink
@testable import MartletRelay

extension SlotTable where Element: ~Copyable {
    /// A value of the element in a slot; nil if the slot is free.
    func read<Value>(_ slot: Int, _ value: (borrowing Element) -> Value) -> Value? {
        isLive(slot) ? value(self[slot]) : nil
    }
}

extension LinkTable {
    /// A value of the link in a slot; nil if the slot is free.
    func read<Value>(_ slot: Int, _ value: (borrowing ServerLink) -> Value) -> Value? {
        isLive(slot) ? value(self[slot]) : nil
    }
}
