/* Has no name. */
#include "base.h"

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, .create = make, .check = pass };
