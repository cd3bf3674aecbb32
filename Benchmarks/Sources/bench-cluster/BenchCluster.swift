import DatabaseRig
import Foundation

/// Measures relays that share rooms by a database of PostgreSQL, prints each figure with its bar, and ends with 1 if
/// one is missed.
///
/// usage: bench-cluster [SECONDS] [--only hot|fanout|rooms]
@main
enum BenchCluster {
    static func main() async throws {
        var (seconds, only): (Double, String?) = (5, nil)
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            if let number = Double(argument) {
                seconds = number
            } else if argument == "--only", let name = arguments.popFirst(), ["hot", "fanout", "rooms"].contains(name) {
                only = name
            } else {
                print("usage: bench-cluster [SECONDS] [--only hot|fanout|rooms]")
                exit(64)
            }
        }
        var bars = Bars()
        if only ?? "hot" == "hot" { try await HotRoom.run(seconds, &bars) }
        if only ?? "fanout" == "fanout" { try await FanOut.run(seconds, &bars) }
        if only ?? "rooms" == "rooms" { try await ManyRooms.run(&bars) }
        exit(bars.missedCount == 0 ? 0 : 1)
    }
}

/// The figures with a bar, and how many miss it.
struct Bars {
    private(set) var missedCount = 0

    mutating func check(_ text: String, _ value: Double, atLeast bar: Double) {
        note("\(text): \(decimal(value)) (at least \(decimal(bar)))", isMet: value >= bar)
    }

    mutating func check(_ text: String, _ value: Double, atMost bar: Double) {
        note("\(text): \(decimal(value)) (at most \(decimal(bar)))", isMet: value <= bar)
    }

    private mutating func note(_ line: String, isMet: Bool) {
        print("  \(isMet ? "ok  " : "MISS") \(line)")
        if !isMet { missedCount += 1 }
    }
}

func decimal(_ value: Double) -> String { String(format: "%.2f", value) }

extension [Double] {
    /// The value below which a share of the sorted values is.
    func percentile(_ share: Double) -> Double { isEmpty ? .nan : self[Int(Double(count - 1) * share)] }
}
