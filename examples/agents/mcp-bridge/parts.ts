import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/sdk/types.js";
import type { PartInput } from "parley-a2a/events";

/** The result of a tool as the parts of an artifact: texts, files, links and data. */
export function partsOf({ content, structuredContent }: CallToolResult): PartInput[] {
  if (structuredContent === undefined) return content.map(partOf);
  const data = { data: structuredContent as Record<string, Json>, mediaType: "application/json" };
  // Tools repeat their data as a text, for older clients.
  return [data, ...content.filter((block) => !repeats(block, structuredContent)).map(partOf)];
}

/** The text of a result, such as that of an error. */
export function textOf({ content }: CallToolResult): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

function partOf(block: ContentBlock): PartInput {
  switch (block.type) {
    case "text":
      return { text: block.text };
    case "image":
    case "audio":
      return { file: { bytes: Buffer.from(block.data, "base64"), mediaType: block.mimeType } };
    case "resource_link":
      return { file: { url: block.uri, name: block.name, ...(block.mimeType && { mediaType: block.mimeType }) } };
    case "resource": {
      const { resource } = block;
      const bytes = "blob" in resource ? Buffer.from(resource.blob, "base64") : Buffer.from(resource.text);
      const name = resource.uri.split("/").at(-1) || resource.uri;
      return {
        file: {
          bytes,
          name,
          mediaType: resource.mimeType ?? ("blob" in resource ? "application/octet-stream" : "text/plain"),
        },
      };
    }
  }
}

function repeats(block: ContentBlock, data: object): boolean {
  if (block.type !== "text") return false;
  try {
    return JSON.stringify(JSON.parse(block.text)) === JSON.stringify(data);
  } catch {
    return false;
  }
}
