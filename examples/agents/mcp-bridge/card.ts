import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import type { AgentCardInput } from "parley-a2a";

/** The card of an MCP server: a skill for each of its tools. */
export function cardOf(
  { name, version, instructions }: { name: string; version: string; instructions: string | undefined },
  tools: readonly Tool[],
): AgentCardInput {
  return {
    name,
    description: instructions ?? `The tools of the MCP server ${name}.`,
    version,
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json", "image/*", "audio/*", "application/octet-stream"],
    skills: tools.map((tool) => ({
      id: tool.name,
      name: tool.title ?? tool.annotations?.title ?? tool.name,
      description: descriptionOf(tool),
      tags: ["mcp", ...hintsOf(tool)],
      examples: [JSON.stringify({ tool: tool.name, arguments: argumentsOf(tool) })],
    })),
  };
}

function descriptionOf({ name, description, inputSchema }: Tool): string {
  return `${description ?? name}\n\nArguments: ${JSON.stringify(inputSchema)}`;
}

function hintsOf({ annotations }: Tool): string[] {
  const { readOnlyHint, destructiveHint, idempotentHint } = annotations ?? {};
  return [
    ...(readOnlyHint === true ? ["read-only"] : []),
    ...(destructiveHint === true ? ["destructive"] : []),
    ...(idempotentHint === true ? ["idempotent"] : []),
  ];
}

/** The required arguments, each with its type in the place of a value. */
function argumentsOf({ inputSchema: { properties = {}, required = [] } }: Tool): Record<string, unknown> {
  return Object.fromEntries(
    required.map((name) => {
      const { type } = (properties[name] ?? {}) as { type?: unknown };
      return [name, `<${typeof type === "string" ? type : "value"}>`];
    }),
  );
}
