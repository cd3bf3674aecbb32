public import Observation

/// An element of a model's list. The object remains the same while the element is in the list, so that a change of the
/// element updates only the views that read it.
@MainActor @Observable
public final class RowModel<Element: Sendable & Equatable & Identifiable>: Identifiable where Element.ID: Sendable {
    /// The identity of the element.
    public nonisolated let id: Element.ID
    /// The current state of the element.
    public internal(set) var value: Element

    init(_ value: Element) {
        id = value.id
        self.value = value
    }
}

/// The differences between two states of a list.
struct RowChanges<Element: Sendable & Equatable & Identifiable>: Sendable, Equatable
where Element.ID: Sendable {
    /// The new elements in order.
    let elements: [Element]
    /// Whether elements were added, removed or moved.
    let hasOtherOrder: Bool
    /// The positions of the elements that are new or changed.
    let changed: [Int]

    init(from old: [Element], to new: [Element]) {
        elements = new
        hasOtherOrder = !old.elementsEqual(new) { $0.id == $1.id }
        if hasOtherOrder {
            let known = Dictionary(old.map { ($0.id, $0) }) { first, _ in first }
            changed = new.indices.filter { known[new[$0].id] != new[$0] }
        } else {
            changed = new.indices.filter { old[$0] != new[$0] }
        }
    }
}

/// The elements of a list with their objects.
@MainActor
struct RowList<Element: Sendable & Equatable & Identifiable> where Element.ID: Sendable {
    private(set) var elements: [Element] = []
    private var models: [Element.ID: RowModel<Element>] = [:]

    /// Applies changes to the objects. Returns the objects if elements were added, removed or moved.
    mutating func apply(_ changes: RowChanges<Element>) -> [RowModel<Element>]? {
        elements = changes.elements
        for index in changes.changed {
            let element = changes.elements[index]
            if let model = models[element.id] { model.value = element } else { models[element.id] = RowModel(element) }
        }
        guard changes.hasOtherOrder else { return nil }
        let rows = elements.compactMap { models[$0.id] }
        if models.count > rows.count { models = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first } }
        return rows
    }
}
