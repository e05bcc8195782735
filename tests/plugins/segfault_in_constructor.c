/* Writes to nowhere before anybody has asked it for anything. */
#include "base.h"

__attribute__((constructor)) static void begin(void) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("segfault_in_constructor"), .create = make, .check = pass };
