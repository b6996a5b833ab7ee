import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

/** A red dot of one pixel. */
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/** A small MCP server with a tool of each kind: data, progress, a file, a link, an error, and one that asks the user. */
export function demoServer(): McpServer {
  const server = new McpServer(
    { name: "demo-tools", title: "Demo Tools", version: "1.0.0" },
    { instructions: "Adds, divides, counts down, draws a dot, links to a page and books a table." },
  );
  const numbers = { a: z.number(), b: z.number() };
  server.registerTool(
    "add",
    {
      title: "Add",
      description: "Adds two numbers.",
      inputSchema: numbers,
      outputSchema: { sum: z.number() },
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({
      content: [{ type: "text", text: JSON.stringify({ sum: a + b }) }],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool("divide", { description: "Divides two numbers.", inputSchema: numbers }, ({ a, b }) => {
    if (b === 0) return { content: [{ type: "text", text: "Nothing is divided by 0." }], isError: true };
    return { content: [{ type: "text", text: `${a / b}` }] };
  });
  server.registerTool(
    "countdown",
    {
      description: "Counts down, with a pause after each number.",
      inputSchema: { from: z.int().max(100), pauseMs: z.int().optional() },
    },
    async ({ from, pauseMs = 10 }, { signal, _meta, sendNotification }) => {
      for (let left = from; left > 0; left--) {
        if (_meta?.progressToken !== undefined) {
          await sendNotification({
            method: "notifications/progress",
            params: { progressToken: _meta.progressToken, progress: from - left, total: from, message: `${left}` },
          });
        }
        await sleep(pauseMs, undefined, { signal });
      }
      return { content: [{ type: "text", text: "Liftoff." }] };
    },
  );
  server.registerTool("dot", { description: "Draws a dot." }, () => ({
    content: [
      { type: "image", data: DOT, mimeType: "image/png" },
      { type: "resource", resource: { uri: "file:///notes/dot.txt", text: "A dot.", mimeType: "text/plain" } },
    ],
  }));
  server.registerTool("link", { description: "Links to a page." }, () => ({
    content: [
      { type: "resource_link", uri: "https://example.org/page.html", name: "page.html", mimeType: "text/html" },
    ],
  }));
  server.registerTool(
    "book_table",
    {
      description: "Books a table at a restaurant, after asking for the details.",
      inputSchema: { restaurant: z.string() },
    },
    async ({ restaurant }) => {
      const { action, content } = await server.server.elicitInput({
        message: `A table at ${restaurant}: for how many, and when?`,
        requestedSchema: {
          type: "object",
          properties: {
            guests: { type: "integer", title: "Guests", minimum: 1, maximum: 12 },
            day: { type: "string", format: "date", title: "Day" },
          },
          required: ["guests", "day"],
        },
      });
      if (action !== "accept") return { content: [{ type: "text", text: "No table was booked." }] };
      return {
        content: [{ type: "text", text: `A table for ${content?.guests} at ${restaurant} on ${content?.day}.` }],
      };
    },
  );
  return server;
}
