import { type Artifact, type Message, type Part, Role, type Task } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** The text of a message: its text parts, joined by line feeds. */
export function messageText(message: Message): string {
  return joined(message.parts, "\n");
}

/** The text of an artifact or of a piece of one: its text parts as they were streamed, with nothing between them. */
export function artifactText(artifact: Artifact): string {
  return joined(artifact.parts, "");
}

/** What a task has to say: its artifacts, separated by line feeds; where they have no text, the message of its status. */
export function taskText(task: Task): string {
  const texts = task.artifacts.map(artifactText).filter((text) => text !== "");
  if (texts.length > 0) return texts.join("\n");
  const said = task.status?.message;
  return said === undefined || said.role === Role.USER ? "" : messageText(said);
}

function joined(parts: readonly Part[], separator: string): string {
  let text: string | undefined;
  for (const { content } of parts) {
    if (content.case === "text") text = text === undefined ? content.value : text + separator + content.value;
  }
  return text ?? "";
}
