/// A set of small numbers in the order of their last use, as a doubly linked list.
struct RecencyList {
    private struct Links {
        var before = -1
        var after = -1
        var isPresent = false
    }

    private var links: [Links] = []
    private var firstNumber = -1
    private var lastNumber = -1

    /// The least recently used number.
    var leastRecent: Int? { firstNumber < 0 ? nil : firstNumber }

    /// Adds a number, or marks it as the most recently used.
    mutating func use(_ number: Int) {
        guard number != lastNumber else { return }
        remove(number)
        while links.count <= number { links.append(Links()) }
        links[number] = Links(before: lastNumber, isPresent: true)
        if lastNumber >= 0 { links[lastNumber].after = number } else { firstNumber = number }
        lastNumber = number
    }

    /// Removes a number.
    mutating func remove(_ number: Int) {
        guard number < links.count, links[number].isPresent else { return }
        let (before, after) = (links[number].before, links[number].after)
        if before >= 0 { links[before].after = after } else { firstNumber = after }
        if after >= 0 { links[after].before = before } else { lastNumber = before }
        links[number].isPresent = false
    }
}
