import Testing

@testable import MartletObservation

@Suite("Rows of a list")
@MainActor
struct RowModelTests {
    private struct Item: Equatable, Identifiable {
        let id: Int
        var text = ""
    }

    @Test func `a changed element → only its position, and the same order`() {
        let changes = RowChanges(from: [Item(id: 1), Item(id: 2)], to: [Item(id: 1), Item(id: 2, text: "x")])
        #expect(changes.changed == [1] && !changes.hasOtherOrder)
    }

    @Test func `added, removed and moved elements → the objects of those that remain`() {
        var list = RowList<Item>()
        let first = list.apply(RowChanges(from: [], to: [Item(id: 1), Item(id: 2)]))
        let second = list.apply(RowChanges(from: list.elements, to: [Item(id: 3), Item(id: 2), Item(id: 1)]))
        #expect(second?.map(\.id) == [3, 2, 1] && second?[2] === first?[0] && second?[1] === first?[1])
        let third = list.apply(RowChanges(from: list.elements, to: [Item(id: 2)]))
        #expect(third?.count == 1)
        let fourth = list.apply(RowChanges(from: list.elements, to: [Item(id: 1), Item(id: 2)]))
        #expect(fourth?[0] !== first?[0] && fourth?[1] === first?[1])
        #expect(list.apply(RowChanges(from: list.elements, to: list.elements)) == nil)
    }
}
