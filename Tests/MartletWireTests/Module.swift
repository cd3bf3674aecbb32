// MartletWireTests
