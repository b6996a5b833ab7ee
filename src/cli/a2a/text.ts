import { Buffer } from "node:buffer";
import { toJson } from "@bufbuild/protobuf";
import { timestampDate, ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type AgentCard,
  type Artifact,
  type Message,
  type Part,
  Role,
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
    (isVerbose ? metadataText(task.metadata) : "")
  );
}

export function historyText(task: Task): string {
  return task.history.map((message) => messageText(message, true)).join("");
}

export function idFields(taskId: string, contextId: string, status: TaskStatus | undefined, isDated: boolean): string {
  const at = isDated && status?.timestamp !== undefined ? timestampDate(status.timestamp).toISOString() : undefined;
  return (
    field("Task ID", taskId) +
    (contextId === "" ? "" : field("Context ID", contextId)) +
    field("State", stateName(status?.state)) +
    (at === undefined ? "" : field("Updated", at))
  );
}

export function messageText(message: Message, isVerbose: boolean): string {
  return (
    field("Message ID", message.messageId) +
    (message.taskId === "" ? "" : field("Task ID", message.taskId)) +
    (message.contextId === "" ? "" : field("Context ID", message.contextId)) +
    field("Role", Role[message.role]?.toLowerCase() ?? "unknown") +
    partsText(message.parts) +
    (isVerbose ? metadataText(message.metadata) : "")
  );
}

function artifactText(artifact: Artifact, isVerbose: boolean): string {
  return (
    field("Artifact ID", artifact.artifactId) +
    (artifact.name === "" ? "" : field("Artifact Name", artifact.name)) +
    partsText(joined(artifact.parts)) +
    (isVerbose ? metadataText(artifact.metadata) : "")
  );
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
      return idFields(taskId, contextId, status, isVerbose) + said + (isVerbose ? metadataText(metadata) : "");
    }
    case "artifactUpdate":
      return payload.value.artifact === undefined ? "" : artifactText(payload.value.artifact, isVerbose);
    default:
      return "";
  }
}

/** Joins consecutive texts: an agent that streams an artifact creates one part for each piece. */
function joined(parts: readonly Part[]): readonly Part[] {
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

function metadataText(metadata: object | undefined): string {
  return metadata === undefined || Object.keys(metadata).length === 0
    ? ""
    : block("Metadata", JSON.stringify(metadata, null, 2));
}

export function cardText(card: AgentCard): string {
  const { capabilities, provider } = card;
  const yes = (value: boolean | undefined): string => (value === true ? "yes" : "no");
  return [
    field("Name", card.name),
    field("Description", card.description),
    field("Version", card.version),
    provider === undefined ? "" : field("Provider", [provider.organization, provider.url].filter(Boolean).join(", ")),
    ...card.supportedInterfaces.map(({ protocolBinding, url, protocolVersion, tenant }) =>
      field("Interface", `${protocolBinding} ${url} (${protocolVersion}${tenant === "" ? "" : `, tenant ${tenant}`})`),
    ),
    field("Streaming", yes(capabilities?.streaming)),
    field("Push Notifications", yes(capabilities?.pushNotifications)),
    field("Extended Card", yes(capabilities?.extendedAgentCard)),
    field("Signatures", signaturesText(card)),
    ...securityFields(card),
    ...card.skills.map(({ id, name, description }) => field("Skill", `${id}: ${name}. ${description}`)),
  ].join("");
}

/** A signature proves nothing without a key that the reader trusts, which `card verify` takes. */
function signaturesText({ signatures }: AgentCard): string {
  return signatures.length === 0 ? "none" : `${signatures.length}, unverified (card verify checks them)`;
}

function securityFields({ securitySchemes, securityRequirements }: AgentCard): string[] {
  const schemes = Object.entries(securitySchemes).map(([name, { scheme }]) => {
    const kinds: Readonly<Record<string, string>> = {
      apiKeySecurityScheme: "API key",
      httpAuthSecurityScheme: "HTTP",
      oauth2SecurityScheme: "OAuth 2.0",
      openIdConnectSecurityScheme: "OpenID Connect",
      mtlsSecurityScheme: "mutual TLS",
    };
    const detail =
      scheme.case === "apiKeySecurityScheme"
        ? ` in the ${scheme.value.location} ${scheme.value.name}`
        : scheme.case === "httpAuthSecurityScheme"
          ? ` ${scheme.value.scheme}`
          : "";
    return field("Security", `${name}: ${kinds[scheme.case ?? ""] ?? "unknown"}${detail}`);
  });
  const required = securityRequirements.map(({ schemes: all }) =>
    field("Security Requirement", Object.keys(all).join(" and ") || "none"),
  );
  return [...schemes, ...required];
}
