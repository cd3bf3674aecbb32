// Types of other modules that the public API uses.
@_exported public import enum MartletDatabase.DatabaseError
