/* Ends with its check, as the oldest plugin there can be. */
#include "base.h"

const mcp_probe_plugin mcp_probe_plugin_v1 = { .magic = MCP_PROBE_MAGIC, .size = offsetof(mcp_probe_plugin, destroy), .abi_major = 1,
                                               NAME("without_options"), .create = make, .check = pass };
