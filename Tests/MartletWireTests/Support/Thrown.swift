import MartletWire

/// Returns the wire error that `body` throws; nil if it throws none.
func thrown<Result>(_ body: () throws(WireError) -> Result) -> WireError? {
    do throws(WireError) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}
