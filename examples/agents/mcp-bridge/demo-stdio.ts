import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { demoServer } from "./demo-server.js";

await demoServer().connect(new StdioServerTransport());
