/*
 * The smallest host: host LIBRARY CONTEXT CODE REPLY CONFIG...
 *
 * For each CONFIG it makes an instance, checks it twice, ends it, and writes one line for each step. Every call of the plugin is
 * answered with CODE and REPLY.
 */
#include <mcp_probe.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mcp_check {
    char detail[256];
};

static int32_t code;
static mcp_str reply;

static mcp_str text(const char *chars) {
    mcp_str borrowed = { chars, strlen(chars) };
    return borrowed;
}

static int32_t call(mcp_check *check, mcp_str method, mcp_str params, uint32_t timeout_ms, mcp_str *to) {
    (void)check;
    printf("call %.*s %.*s %lu\n", (int)method.len, method.ptr, (int)params.len, params.ptr, (unsigned long)timeout_ms);
    if (to)
        *to = reply;
    return code;
}

static int64_t remaining_ms(mcp_check *check) {
    (void)check;
    return 2500;
}

static void detail(mcp_check *check, mcp_str why) {
    snprintf(check->detail, sizeof check->detail, "%.*s", (int)why.len, why.ptr);
}

static void log_line(mcp_check *check, int32_t level, mcp_str line) {
    (void)check;
    printf("log %d %.*s\n", (int)level, (int)line.len, line.ptr);
}

static const mcp_probe_host host = {
    sizeof(mcp_probe_host), MCP_PROBE_ABI_MAJOR, MCP_PROBE_ABI_MINOR, call, remaining_ms, detail, log_line,
};

static void try_config(const mcp_probe_plugin *plugin, const char *config, const char *context) {
    mcp_check creation = { "" };
    void *self = plugin->create(&host, text(config), &creation);
    if (!self)
        printf("refused %s\n", creation.detail);
    for (int at = 0; self && at < 2; at++) {
        mcp_check check = { "" };
        int32_t verdict = plugin->check(self, &host, &check, text(context));
        printf("check %d %s\n", (int)verdict, check.detail);
    }
    if (self && plugin->destroy)
        plugin->destroy(self);
}

int main(int count, char **words) {
    if (count < 5)
        return 64;
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    const mcp_probe_plugin *plugin = library ? dlsym(library, "mcp_probe_plugin_v1") : NULL;
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%s\n", plugin->name);
    code = atoi(words[3]);
    reply = text(words[4]);
    for (int at = 5; at < count; at++)
        try_config(plugin, words[at], words[2]);
    return 0;
}
