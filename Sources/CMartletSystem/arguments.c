#include "CMartletSystem.h"

#include <stddef.h>
#ifdef __linux__
#include <features.h>
#endif

static int32_t argument_count;
static char **argument_values;

#ifdef __GLIBC__
/// The dynamic linker passes the arguments of the process to each constructor. The Swift runtime looks for them beside
/// the environment, which another library may have moved before main.
__attribute__((constructor)) static void keep_arguments(int count, char **values, char **environment) {
    (void)environment;
    argument_count = count;
    argument_values = values;
}
#endif

int32_t martlet_argument_count(void) { return argument_count; }

const char *martlet_argument(int32_t index) {
    return index >= 0 && index < argument_count ? argument_values[index] : NULL;
}
