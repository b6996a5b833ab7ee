import { toJson } from "@bufbuild/protobuf";
import { type Message, type Part, PartSchema, Role } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Entry } from "../../../gen/parley/admin/v1/admin_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { printable } from "../log.js";
import { clipped, type Look, paint } from "../look.js";
import { moment, stateName } from "./format.js";

/** The lines of an entry: what happened, and with `raw` the stored bytes. */
export function entryLines({ entry, writer, attempt, bytes, raw }: Entry, look: Look, withRaw: boolean): string[] {
  const by = writer === "" ? "" : `  by ${writer.slice(-8)}${attempt > 0 ? ` #${attempt}` : ""}`;
  const line =
    entry === undefined
      ? paint(`       damaged: ${bytes} bytes do not decode`, "red", look)
      : clipped(printable(`${entryLine(entry)}${by}`), look);
  return withRaw || entry === undefined ? [line, ...hexLines(raw)] : [line];
}

function entryLine(entry: LogEntry): string {
  const { kind, text } = eventOf(entry);
  return `${String(entry.position).padStart(6)}  ${moment(entry.time)}  ${kind.padEnd(8)}  ${text}`;
}

/** The kind of an event, and its content as one text. */
export function eventOf({ event }: LogEntry): { readonly kind: string; readonly text: string } {
  switch (event.case) {
    case "created":
      return { kind: "created", text: messageText(event.value.history[0]) };
    case "message":
      return { kind: "message", text: messageText(event.value) };
    case "status": {
      const { status } = event.value;
      const said = status?.message === undefined ? "" : `: ${partsText(status.message.parts)}`;
      return { kind: "status", text: `${stateName(status?.state ?? 0)}${said}` };
    }
    case "artifact": {
      const { artifact, append, lastChunk } = event.value;
      const marks = `${append ? " +" : ""}${lastChunk ? " (last)" : ""}`;
      const name = artifact?.name || artifact?.artifactId;
      return { kind: "artifact", text: `${name}${marks}: ${partsText(artifact?.parts ?? [])}` };
    }
    case "step": {
      const { name, count, outcome } = event.value;
      const result = outcome.case === "error" ? `failed: ${outcome.value.message}` : (outcome.value ?? "undefined");
      return { kind: "step", text: `${name} ${count}: ${result}` };
    }
    default:
      return { kind: event.case ?? "unknown", text: "" };
  }
}

/** A message as one text, with the role of its sender. */
export function messageText(message: Message | undefined): string {
  if (message === undefined) return "";
  return `${message.role === Role.AGENT ? "agent" : "user"}: ${partsText(message.parts)}`;
}

/** Parts as one text: data as JSON, files by their names and sizes. */
export function partsText(parts: readonly Part[]): string {
  return parts.map(partText).join(" ");
}

function partText(part: Part): string {
  const { content, filename, mediaType } = part;
  const file = [filename, mediaType].filter((name) => name !== "").join(" ");
  if (content.case === "text") return content.value;
  if (content.case === "raw") return `[${[file, `${content.value.length} bytes`].join(" ").trim()}]`;
  if (content.case === "url") return `[${[file, content.value].join(" ").trim()}]`;
  const { data } = toJson(PartSchema, part) as { readonly data?: unknown };
  return JSON.stringify(data ?? null);
}

/** Bytes as hexadecimal text, 32 in a line. */
function hexLines(bytes: Uint8Array): string[] {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
  return (hex.match(/.{1,64}/g) ?? []).map((line) => `        ${line}`);
}
