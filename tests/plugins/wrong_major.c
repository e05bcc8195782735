/* Speaks the next major version. */
#include "base.h"

const mcp_probe_plugin mcp_probe_plugin_v1 = { .magic = MCP_PROBE_MAGIC, .size = sizeof(mcp_probe_plugin), .abi_major = 2, NAME("wrong_major"),
                                               .create = make, .check = pass };
