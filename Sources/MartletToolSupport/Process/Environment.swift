/// The environment of the process.
package enum Environment {
    /// Returns the value of a variable; nil if it is not set.
    package static subscript(name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }
}
