/* Ends before its check. */
#include "base.h"

const mcp_probe_plugin mcp_probe_plugin_v1 = { .magic = MCP_PROBE_MAGIC, .size = offsetof(mcp_probe_plugin, check), .abi_major = 1,
                                               NAME("small_size"), .create = make };
