import { type Artifact, type Message, type Part, Role, type Task } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** Returns the text of a message: its text parts, joined by line feeds. */
export function messageText(message: Message): string {
  return joinedText(message.parts, "\n");
}

/** Returns the text of an artifact or chunk: its text parts as they were streamed, without separators. */
export function artifactText(artifact: Artifact): string {
  return joinedText(artifact.parts, "");
}

/** Returns the text of a task: its artifacts, separated by line feeds; without any, the message of its status. */
export function taskText(task: Task): string {
  const texts = task.artifacts.map(artifactText).filter((text) => text !== "");
  if (texts.length > 0) return texts.join("\n");
  const statusMessage = task.status?.message;
  return statusMessage === undefined || statusMessage.role === Role.USER ? "" : messageText(statusMessage);
}

function joinedText(parts: readonly Part[], separator: string): string {
  let text: string | undefined;
  for (const { content } of parts) {
    if (content.case === "text") text = text === undefined ? content.value : text + separator + content.value;
  }
  return text ?? "";
}
