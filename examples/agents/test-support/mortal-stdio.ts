import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

// An MCP server that ends in the middle of a call.
const server = new McpServer({ name: "mortal", version: "1.0.0" });
server.registerTool("pid", {}, () => ({ content: [{ type: "text", text: `${process.pid}` }] }));
server.registerTool("exit", {}, () => process.exit(1));
await server.connect(new StdioServerTransport());
