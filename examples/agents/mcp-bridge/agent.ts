import { fileURLToPath } from "node:url";
import { bridgeTo } from "./bridge.js";
import type { McpServer } from "./connection.js";

/** The agent of the MCP server that `MCP_URL` or `MCP_COMMAND` names, or else of the one in this folder. */
export const { agent } = await bridgeTo(server());

function server(): McpServer {
  const { MCP_URL: url, MCP_COMMAND } = process.env;
  if (url !== undefined) return { url };
  const [command, ...args] = MCP_COMMAND?.split(" ") ?? [];
  if (command !== undefined) return { command, args };
  const program = fileURLToPath(new URL("demo-stdio.ts", import.meta.url));
  return { command: process.execPath, args: ["--import", "tsx", program] };
}
