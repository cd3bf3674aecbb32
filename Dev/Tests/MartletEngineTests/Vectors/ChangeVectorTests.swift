import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletDifferential
@testable import MartletLink

/// Replays `Specs/vectors/changes.json`: changes of a message, applied in every order.
@Suite("Vectors of changes")
struct ChangeVectorTests {
    private static let vectors =
        ((try? VectorFile.all()) ?? [])
        .first { $0.name == "changes" }?.vectors ?? []

    private func reference(_ target: JSONValue?) throws -> MessageReference {
        func number(_ name: String) -> UInt64 { target?[name]?.text.flatMap { UInt64($0) } ?? 0 }
        return MessageReference(
            MessageID(
                sender: try #require(AccountName(target?["sender"]?.text ?? "")),
                device: DeviceID(rawValue: number("device")), counter: number("counter")),
            offset: number("offset"))
    }

    private func body(_ step: JSONValue) throws -> MessageBody {
        let fields = step["fields"]
        let target = try reference(fields?["target"])
        switch step["kind"]?.text {
        case "edit": return .edit(of: target, text: fields?["text"]?.text ?? "")
        case "delete": return .delete(target)
        default:
            return .reaction(fields?["reaction"]?.text ?? "", to: target, isRemoved: fields?["removed"]?.number == 1)
        }
    }

    /// Returns every order of the elements.
    private func orders<Element>(of elements: [Element]) -> [[Element]] {
        guard !elements.isEmpty else { return [[]] }
        return elements.indices.flatMap { index in
            var rest = elements
            let first = rest.remove(at: index)
            return orders(of: rest).map { [first] + $0 }
        }
    }

    @Test func `the file has vectors`() {
        #expect(Self.vectors.count >= 15)
    }

    // M-2, M-6, M-9, M-10, M-11, M-12
    @Test(arguments: vectors.indices) func `changes in any order give the result`(index: Int) throws {
        let vector = Self.vectors[index]
        let target = try reference(vector["target"]).id
        for steps in orders(of: vector["changes"]?.list ?? []) {
            var effects = MessageEffects()
            for step in steps {
                let sender = try #require(AccountName(step["sender"]?.text ?? ""))
                let isModerator = step["isModerator"]?.isTrue == true
                let change = MessageChange(try body(step), by: sender, isModerator: isModerator)
                guard let change, change.target == target else { continue }
                effects.apply(change, at: step["offset"]?.text.flatMap { UInt64($0) } ?? 0)
            }
            var result: [String: JSONValue] = [:]
            if effects.isDeleted { result["isDeleted"] = .bool(true) }
            result["text"] = effects.text.map { .text($0) }
            let reactions = effects.reactions.map { JSONValue.list([.text($0.author.text), .text($0.text)]) }
            if !reactions.isEmpty { result["reactions"] = .list(reactions) }
            #expect(.object(result) == vector["result"], "\(vector["name"]?.text ?? "")")
        }
    }
}
