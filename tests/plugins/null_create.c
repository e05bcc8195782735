/* Has no create. */
#include "base.h"

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("null_create"), .check = pass };
