import { Buffer } from "node:buffer";
import { toJson } from "@bufbuild/protobuf";
import { timestampDate, ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type AgentCard,
  type Artifact,
  type Message,
  type Part,
  Role,
  type SecurityScheme,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { stateName } from "../../task/state-name.js";

// Text output: a field is one line, `Label: value`. A block is a line `Label:`, its content and one blank line.
// Control characters are replaced, so that an agent's text cannot drive the terminal.

export function field(label: string, value: string): string {
  return `${singleLine(`${label}: ${value}`)}\n`;
}

/** Returns a field for each value, and one for each of several values. Those that are undefined are left out. */
export function fields(values: Readonly<Record<string, string | readonly string[] | undefined>>): string {
  return Object.entries(values)
    .flatMap(([label, value = []]) => [value].flat().map((each) => field(label, each)))
    .join("");
}

/** Returns a block. An empty line of its content is written as a space, so that a blank line ends the block only. */
export function block(label: string, content: string): string {
  const lines = terminalText(content).replace(/\n$/, "").split("\n");
  return `${label}:\n${lines.map((line) => line || " ").join("\n")}\n\n`;
}

/** Formats a block whose text arrives in pieces. The joined results equal `block` of the whole text. */
export class TextBlock {
  /** Trailing line ends. The block leaves out the last one. */
  #ends = "";
  #isEmpty = true;

  begin(text: string): string {
    return `Text:\n${this.add(text)}`;
  }

  add(text: string): string {
    const whole = this.#ends + terminalText(text);
    const body = whole.replace(/\n+$/, "");
    this.#ends = whole.slice(body.length);
    if (body === "") return "";
    const lines = body.split("\n").map((line, index) => line || (index > 0 || this.#isEmpty ? " " : ""));
    this.#isEmpty = false;
    return lines.join("\n");
  }

  end(): string {
    const blank = "\n ".repeat(Math.max(0, this.#ends.length - 1));
    return `${this.#isEmpty ? " " : ""}${blank}\n\n`;
  }
}

/** Returns a text as one line that cannot drive the terminal. */
export function singleLine(text: string): string {
  return terminalText(text).replaceAll("\n", "\\n");
}

/** Returns a text whose lines cannot drive the terminal. Characters that turn the direction of text are replaced too. */
export function terminalText(text: string): string {
  const unsafe = /[^\P{Cc}\t\n]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;
  return text.replace(/\r\n?/g, "\n").replace(unsafe, "\uFFFD").toWellFormed();
}

/** Returns a task: ids and state, the message of its status, its artifacts. */
export function taskText(task: Task, isVerbose: boolean): string {
  return (
    idFields(task.id, task.contextId, task.status, isVerbose) +
    (task.status?.message === undefined ? "" : partsText(task.status.message.parts)) +
    task.artifacts.map((artifact) => artifactText(artifact, isVerbose)).join("") +
    metadataText(task.metadata, isVerbose)
  );
}

export function historyText(task: Task): string {
  return task.history.map((message) => messageText(message, true)).join("");
}

export function idFields(taskId: string, contextId: string, status: TaskStatus | undefined, isDated: boolean): string {
  const at = isDated && status?.timestamp !== undefined ? timestampDate(status.timestamp).toISOString() : undefined;
  const state = stateName(status?.state);
  return fields({ "Task ID": taskId, "Context ID": contextId || undefined, State: state, Updated: at });
}

export function messageText(message: Message, isVerbose: boolean): string {
  const { messageId, taskId, contextId, role, parts, metadata } = message;
  const ids = { "Message ID": messageId, "Task ID": taskId || undefined, "Context ID": contextId || undefined };
  const head = fields({ ...ids, Role: Role[role]?.toLowerCase() ?? "unknown" });
  return head + partsText(parts) + metadataText(metadata, isVerbose);
}

function artifactText(artifact: Artifact, isVerbose: boolean): string {
  const { artifactId, name, parts, metadata } = artifact;
  const head = fields({ "Artifact ID": artifactId, "Artifact Name": name || undefined });
  return head + partsText(mergeTexts(parts)) + metadataText(metadata, isVerbose);
}

export function eventText({ payload }: StreamResponse, isVerbose: boolean): string {
  switch (payload.case) {
    case "task":
      return taskText(payload.value, isVerbose);
    case "message":
      return messageText(payload.value, isVerbose);
    case "statusUpdate": {
      const { taskId, contextId, status, metadata } = payload.value;
      const said = status?.message === undefined ? "" : partsText(status.message.parts);
      return idFields(taskId, contextId, status, isVerbose) + said + metadataText(metadata, isVerbose);
    }
    case "artifactUpdate":
      return payload.value.artifact === undefined ? "" : artifactText(payload.value.artifact, isVerbose);
    default:
      return "";
  }
}

/** Joins consecutive texts: an agent that streams an artifact creates one part for each piece. */
function mergeTexts(parts: readonly Part[]): readonly Part[] {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (part.content.case !== "text" || last?.content.case !== "text") all.push(part);
    else all.splice(-1, 1, { ...last, content: { case: "text", value: last.content.value + part.content.value } });
  }
  return all;
}

function partsText(parts: readonly Part[]): string {
  return parts.map(partText).join("");
}

export function partText({ content, filename, mediaType }: Part): string {
  switch (content.case) {
    case "text":
      return block("Text", content.value);
    case "data":
      return block("Data", JSON.stringify(toJson(ValueSchema, content.value), null, 2));
    case "raw":
      return fileField(filename, mediaType, `${Buffer.from(content.value).length} bytes`);
    case "url":
      return fileField(filename, mediaType, content.value);
    default:
      return field("Part", "empty");
  }
}

function fileField(filename: string, mediaType: string, rest: string): string {
  return field("File", `${filename || "unnamed"} (${mediaType || "application/octet-stream"}, ${rest})`);
}

function metadataText(metadata: object = {}, isShown: boolean): string {
  const isEmpty = !isShown || Object.keys(metadata).length === 0;
  return isEmpty ? "" : block("Metadata", JSON.stringify(metadata, null, 2));
}

export function cardText(card: AgentCard): string {
  const { capabilities, provider, signatures } = card;
  const yes = (value: boolean | undefined): string => (value === true ? "yes" : "no");
  return fields({
    Name: card.name,
    Description: card.description,
    Version: card.version,
    Provider: provider && [provider.organization, provider.url].filter(Boolean).join(", "),
    Interface: card.supportedInterfaces.map(
      ({ protocolBinding, url, protocolVersion, tenant }) =>
        `${protocolBinding} ${url} (${protocolVersion}${tenant === "" ? "" : `, tenant ${tenant}`})`,
    ),
    Streaming: yes(capabilities?.streaming),
    "Push Notifications": yes(capabilities?.pushNotifications),
    "Extended Card": yes(capabilities?.extendedAgentCard),
    // A signature proves nothing without a key that the reader trusts, which `card verify` takes.
    Signatures: signatures.length === 0 ? "none" : `${signatures.length}, unverified (card verify checks them)`,
    Security: Object.entries(card.securitySchemes).map(([name, { scheme }]) => `${name}: ${schemeText(scheme)}`),
    "Security Requirement": card.securityRequirements.map(
      ({ schemes }) => Object.keys(schemes).join(" and ") || "none",
    ),
    Skill: card.skills.map(({ id, name, description }) => `${id}: ${name}. ${description}`),
  });
}

function schemeText(scheme: SecurityScheme["scheme"]): string {
  switch (scheme.case) {
    case "apiKeySecurityScheme":
      return `API key in the ${scheme.value.location} ${scheme.value.name}`;
    case "httpAuthSecurityScheme":
      return `HTTP ${scheme.value.scheme}`;
    case "oauth2SecurityScheme":
      return "OAuth 2.0";
    case "openIdConnectSecurityScheme":
      return "OpenID Connect";
    default:
      return scheme.case === undefined ? "unknown" : "mutual TLS";
  }
}
