// The errors of a timeline are those of its database.
@_exported public import enum MartletDatabase.DatabaseError
