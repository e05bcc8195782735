/* A library, but no plugin. */
int mcp_something_else(void);
int mcp_something_else(void) { return 0; }
