/* Has the symbol, and something else behind it. */
#include "base.h"

const mcp_probe_plugin mcp_probe_plugin_v1 = { .magic = 1, .size = sizeof(mcp_probe_plugin), .abi_major = 1, NAME("wrong_magic"), .create = make,
                                               .check = pass };
