import { type Message, type Part, Role } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../../../gen/parley/log/v1/log_pb.js";
import { dataOf } from "../../../../src/client/web.js";
import { states } from "../../texts/states.js";
import { logWords } from "../../texts/tasks-log.js";

/** Characters of an entry that a row shows. */
const MAX = 300;

/** Kinds of entries. */
export type EntryKind = "created" | "message" | "status" | "artifact" | "step" | "note" | "damaged";

export const kindOf = (entry: LogEntry | undefined): EntryKind => entry?.event.case ?? "damaged";

/** Returns the content of an entry as one line. */
export function lineOf(entry: LogEntry | undefined): string {
  if (entry === undefined) return logWords.damagedEntry;
  const { event } = entry;
  switch (event.case) {
    case "created":
      return messageLine(event.value.history[0]);
    case "message":
      return messageLine(event.value);
    case "status": {
      const { state = 0, message } = event.value.status ?? {};
      return message === undefined ? states[state] : logWords.pair(states[state], partsLine(message.parts));
    }
    case "artifact": {
      const { artifact, append } = event.value;
      const name = artifact?.name || artifact?.artifactId || "";
      return logWords.pair(append ? logWords.more(name) : name, partsLine(artifact?.parts ?? []));
    }
    case "step": {
      const { name, count, outcome } = event.value;
      const result = outcome.case === "error" ? logWords.stepFailed(outcome.value.message) : (outcome.value ?? "");
      return logWords.pair(logWords.step(name, count), result.slice(0, MAX));
    }
    case "note":
      return "";
    default:
      return logWords.damagedEntry;
  }
}

function messageLine(message: Message | undefined): string {
  if (message === undefined) return "";
  return logWords.pair(message.role === Role.AGENT ? logWords.agent : logWords.user, partsLine(message.parts));
}

/** Returns parts as one line: data as JSON, files by their names. */
export function partsLine(parts: readonly Part[]): string {
  let line = "";
  for (const part of parts) {
    if (line.length >= MAX) break;
    line += `${line === "" ? "" : " "}${partLine(part)}`;
  }
  return line.slice(0, MAX).replaceAll(/\s+/g, " ");
}

function partLine(part: Part): string {
  const { content, filename, mediaType } = part;
  if (content.case === "text") return content.value.slice(0, MAX);
  if (content.case === "raw") return logWords.file(filename || mediaType, content.value.length);
  if (content.case === "url") return logWords.link(filename || content.value);
  return dataLine(part);
}

function dataLine(part: Part): string {
  try {
    return JSON.stringify(dataOf({ parts: [part] })[0] ?? null).slice(0, MAX);
  } catch {
    // Nested more deeply than the browser's own JSON reads.
    return logWords.data;
  }
}
