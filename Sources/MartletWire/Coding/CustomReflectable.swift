// Embedded Swift has no `Mirror`.
#if !hasFeature(Embedded)
    extension Credential: CustomReflectable {
        /// A mirror without children.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    extension ResumeToken: CustomReflectable {
        /// A mirror without children.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
#endif
