/* What the plugins of the tests have in common. */
#include <mcp_probe.h>

#include <string.h>

static inline mcp_str text(const char *chars) {
    mcp_str borrowed = { chars, strlen(chars) };
    return borrowed;
}

static inline void *make(const mcp_probe_host *host, mcp_str config_json, mcp_check *diag) {
    (void)config_json;
    (void)diag;
    return (void *)host; /* any pointer will do */
}

static inline int32_t pass(void *self, const mcp_probe_host *host, mcp_check *check, mcp_str context_json) {
    (void)self;
    (void)host;
    (void)check;
    (void)context_json;
    return MCP_PROBE_PASS;
}

#define VERSION .magic = MCP_PROBE_MAGIC, .size = sizeof(mcp_probe_plugin), .abi_major = MCP_PROBE_ABI_MAJOR
#define NAME(chars) .name = chars, .version = "1.0", .built_with = "cc"
