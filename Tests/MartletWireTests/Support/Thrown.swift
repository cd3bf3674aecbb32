import MartletWire

/// The wire error that `body` throws, nil when it throws none.
func thrown<Result>(_ body: () throws(WireError) -> Result) -> WireError? {
    do throws(WireError) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}
