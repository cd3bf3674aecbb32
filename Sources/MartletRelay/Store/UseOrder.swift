/// Small numbers in the order in which they were used last; each is in it once or not at all.
struct UseOrder {
    private struct Neighbours {
        var before = -1
        var after = -1
        var isPresent = false
    }

    private var neighbours: [Neighbours] = []
    private var firstPlace = -1
    private var lastPlace = -1

    /// The number that has not been used for longest; nil when there is none.
    var first: Int? { firstPlace < 0 ? nil : firstPlace }

    /// A number is the last that was used.
    mutating func use(_ number: Int) {
        guard number != lastPlace else { return }
        remove(number)
        while neighbours.count <= number { neighbours.append(Neighbours()) }
        neighbours[number] = Neighbours(before: lastPlace, isPresent: true)
        if lastPlace >= 0 { neighbours[lastPlace].after = number } else { firstPlace = number }
        lastPlace = number
    }

    /// A number is in the order no more.
    mutating func remove(_ number: Int) {
        guard number < neighbours.count, neighbours[number].isPresent else { return }
        let (before, after) = (neighbours[number].before, neighbours[number].after)
        if before >= 0 { neighbours[before].after = after } else { firstPlace = after }
        if after >= 0 { neighbours[after].before = before } else { lastPlace = before }
        neighbours[number].isPresent = false
    }
}
