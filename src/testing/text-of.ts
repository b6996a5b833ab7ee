import type { Artifact, Message, Part, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";

/**
 * Returns the text of a message, an artifact, or all artifacts of a task: its text parts, joined without a separator.
 * The artifacts of a task are separated by line feeds; those without text, such as files, are left out.
 */
export function textOf(of: Message | Artifact | Task): string {
  if ("parts" in of) return textOfParts(of.parts);
  return of.artifacts
    .filter(({ parts }) => parts.some(({ content }) => content.case === "text"))
    .map(({ parts }) => textOfParts(parts))
    .join("\n");
}

function textOfParts(parts: readonly Part[]): string {
  return parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}
