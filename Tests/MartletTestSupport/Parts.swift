/// The parts of a value as text. Queues and tables are shown by their elements, independent of the memory layout.
package func parts(of value: Any) -> String {
    if let text = value as? String { return text }
    if let table = value as? any DictionaryLike { return "[\(table.entries.sorted().joined(separator: " "))]" }
    if let list = value as? any Collection { return "[\(list.map { parts(of: $0) }.joined(separator: " "))]" }
    let mirror = Mirror(reflecting: value)
    guard !mirror.children.isEmpty else { return "\(value)" }
    return "(" + mirror.children.map { "\($0.label ?? ""): \(parts(of: $0.value))" }.joined(separator: " ") + ")"
}

private protocol DictionaryLike {
    var entries: [String] { get }
}

extension Dictionary: DictionaryLike {
    fileprivate var entries: [String] { map { "\(parts(of: $0.key)): \(parts(of: $0.value))" } }
}
