/* Refuses every configuration, and does not say why. */
#include "base.h"

static void *refuse(const mcp_probe_host *host, mcp_str config_json, mcp_check *diag) {
    (void)host, (void)config_json, (void)diag;
    return NULL;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("create_null"), .create = refuse, .check = pass };
