// MartletTests
