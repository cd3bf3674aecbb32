/// The numbers of lost, duplicated and reordered frames on unordered carriers, over all paths of a world. A test
/// verifies with them that the requested conditions occurred.
package struct PathTrouble: Equatable, Sendable {
    /// Lost frames.
    package internal(set) var lost = 0
    /// Duplicated frames.
    package internal(set) var doubled = 0
    /// Frames that arrived after a later one.
    package internal(set) var overtaken = 0
}
