#include "CMartletSystem.h"
