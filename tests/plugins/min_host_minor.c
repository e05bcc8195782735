/* Wants a newer host. */
#include "base.h"

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, .min_host_minor = 7, NAME("min_host_minor"), .create = make, .check = pass };
