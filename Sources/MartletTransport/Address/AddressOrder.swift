/// Interleaves the address families, beginning with the family of the first address (RFC 8305 §4, with a First Address
/// Family Count of 1). The order within a family is kept, and duplicates are dropped.
func interleaveFamilies(_ addresses: [SocketAddress]) -> [SocketAddress] {
    guard let first = addresses.first else { return [] }
    var seen = Set<SocketAddress>()
    let distinct = addresses.filter { seen.insert($0).inserted }
    let preferred = distinct.filter { $0.ip.isIPv6 == first.ip.isIPv6 }
    let others = distinct.filter { $0.ip.isIPv6 != first.ip.isIPv6 }
    var result: [SocketAddress] = []
    result.reserveCapacity(distinct.count)
    for index in 0..<max(preferred.count, others.count) {
        if index < preferred.count { result.append(preferred[index]) }
        if index < others.count { result.append(others[index]) }
    }
    return result
}
