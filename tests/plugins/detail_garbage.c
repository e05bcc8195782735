/* Hands over what is no text. The last detail counts; Busy, so that it is seen. */
#include "base.h"

static int32_t check(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self, (void)host, (void)check, (void)context_json;
    static const char garbage[] = "bad \xff\xfe text\0with\nlines\x1b[31m";
    mcp_str bad = { garbage, sizeof garbage - 1 };
    mcp_str none = { NULL, 0 };
    if (host->call(check, bad, none, 100, NULL) != MCP_CALL_INVALID || host->call(check, none, none, 100, NULL) != MCP_CALL_INVALID)
        return MCP_PROBE_FAIL;
    if (host->call(check, text("ping"), text("{"), 100, NULL) != MCP_CALL_INVALID)
        return MCP_PROBE_FAIL;
    host->log(check, 99, bad);
    host->log(check, MCP_LOG_WARN, none);
    host->detail(check, none);
    host->detail(check, bad);
    return MCP_PROBE_BUSY;
}

const mcp_probe_plugin mcp_probe_plugin_v1 = { VERSION, NAME("detail_garbage"), .create = make, .check = check };
