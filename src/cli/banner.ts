import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { quoted, shownCredentials, shownQuery } from "../page/command.js";
import { WELL_KNOWN_PATH } from "../wire/card-names.js";

interface Opened {
  readonly url: string;
  readonly grpcAddress: string | undefined;
  /** The address of the operator's service, if there is one. */
  readonly adminUrl?: string | undefined;
  /** The link to the console, if there is one. */
  readonly consoleUrl?: string | undefined;
  /** The location of tasks. */
  readonly store: string;
  /** The address for clients elsewhere, if there is one. */
  readonly publicUrl?: string | undefined;
  /** The card of the first agent, with its interfaces. */
  readonly card: AgentCard;
  readonly agents?: readonly string[];
  /** The version that calls have to name; undefined if they need not name one. */
  readonly version?: string | undefined;
  /** The same over HTTP+JSON. */
  readonly restVersion?: string | undefined;
}

/** Maximum number of cards listed. */
const MOST_CARDS = 10;

/** Returns the greeting: the server's addresses, and commands for first calls. */
export function greeting(opened: Opened): string {
  const { url, grpcAddress, adminUrl = "", consoleUrl = "", store, card, restVersion, agents = [] } = opened;
  const grpc = grpcAddress ?? "none";
  const headers = `${named(restVersion)}${shown(card)}-H 'content-type: application/json'`;
  return `${card.name} ${card.version} is ready.

  HTTP   ${url}   JSON-RPC, HTTP+JSON, Connect, gRPC-Web, gRPC
  gRPC   ${grpc}
  Card   ${url}${WELL_KNOWN_PATH}
${others(url, agents)}${refusals(opened)}${adminUrl && `  Admin  ${adminUrl}\n`}  Tasks  ${store}
${consoleUrl && `\n  Console  ${consoleUrl}\n`}${credentials(card)}
Try it:

  ${firstCall(opened)}

  curl ${quoteUrl(url, card, "message:send")} ${headers} \\
    -d ${request(card)}

  curl -N ${quoteUrl(url, card, "message:stream")} ${headers} \\
    -d ${request(card, "streaming")}
`;
}

/** Cards of agents that the root card does not mention: a line for each, or nothing. */
function others(url: string, agents: readonly string[]): string {
  const lines = agents
    .slice(1, MOST_CARDS)
    .map((name) => `         ${url}/${encodeURIComponent(name)}${WELL_KNOWN_PATH}\n`);
  const left = agents.length - MOST_CARDS;
  return lines.join("") + (left > 0 ? `         and those of ${left} more agents\n` : "");
}

/**
 * Clients that reject the card because of gRPC's `host:port` (docs/bindings/clients.md), with the flag that fixes it;
 * or nothing. A server without a public URL is only being tried, and to its author the line would look like an error.
 */
function refusals({ card, publicUrl }: Opened): string {
  if (publicUrl === undefined || card.supportedInterfaces.every(({ url }) => /^https?:/.test(url))) return "";
  return "         Google ADK and a2a-proof refuse this card, as it names gRPC by host:port: --card-grpc url, or omit\n";
}

/** Credentials that the commands below need; one line, or nothing. */
function credentials({ securityRequirements }: AgentCard): string {
  const ways = securityRequirements.map(({ schemes }) => Object.entries(schemes));
  if (ways.some((way) => way.length === 0)) return "";
  const described = ways.map((way) =>
    way.map(([name, { list }]) => (list.length === 0 ? name : `${name} (${list.join(" ")})`)).join(" and "),
  );
  return described.length === 0 ? "" : `  Needs  credentials: ${described.join(", or ")}\n`;
}

/** Headers with placeholders for the credentials that calls need. */
function shown(card: AgentCard): string {
  return shownCredentials(card)
    .map((header) => `-H ${quoted(header)} `)
    .join("");
}

/** Returns a first call, over gRPC if the server has a gRPC port, otherwise over Connect. */
function firstCall({ url, grpcAddress, card, version }: Opened): string {
  const method = `${A2AService.typeName}/SendMessage`;
  const tenant = card.supportedInterfaces[0]?.tenant ?? "";
  const body = request(card, "", tenant);
  if (grpcAddress === undefined) {
    return `curl ${withKeys(`${url}/${method}`, card)} ${named(version)}${shown(card)}-H 'content-type: application/json' \\\n    -d ${body}`;
  }
  const plaintext = url.startsWith("https:") ? "" : "-plaintext ";
  return `grpcurl ${plaintext}${named(version)}${shown(card)}-d ${body} \\\n    ${grpcAddress} ${method}`;
}

function named(version: string | undefined): string {
  return version === undefined ? "" : `-H 'A2A-Version: ${version}' `;
}

/** Returns the quoted URL of an operation over HTTP+JSON, whose path contains the tenant. */
function quoteUrl(url: string, card: AgentCard, operation: string): string {
  const tenant = card.supportedInterfaces[0]?.tenant ?? "";
  const path = tenant === "" ? operation : `${encodeURIComponent(tenant)}/${operation}`;
  return withKeys(`${url}/${path}`, card);
}

/** Adds the keys that calls need in their query, quoted for a shell. */
function withKeys(url: string, card: AgentCard): string {
  const query = shownQuery(card);
  return query === "" ? url : quoted(url + query);
}

/** Returns a request, quoted for a shell, with an example of a skill that has the tag, otherwise of the first skill. */
function request(card: AgentCard, tag = "", tenant = ""): string {
  const skill = card.skills.find(({ tags }) => tags.includes(tag)) ?? card.skills[0];
  const text = skill?.examples[0] ?? "hello";
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text }] };
  const json = JSON.stringify(tenant === "" ? { message } : { tenant, message });
  return quoted(json);
}
