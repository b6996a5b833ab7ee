import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { WELL_KNOWN_PATH } from "../card/well-known.js";

/** What was opened, for people. */
export interface Opened {
  readonly url: string;
  readonly grpcAddress: string | undefined;
  /** Where tasks are kept. */
  readonly store: string;
  /** The card of the first agent, with its interfaces. */
  readonly card: AgentCard;
}

/** Says where a server listens, and how to talk to it for the first time. */
export function greeting({ url, grpcAddress, store, card }: Opened): string {
  const grpc = grpcAddress ?? "none";
  return `${card.name} ${card.version} is ready.

  HTTP   ${url}   JSON-RPC, HTTP+JSON, Connect, gRPC-Web, gRPC
  gRPC   ${grpc}
  Card   ${url}${WELL_KNOWN_PATH}
  Tasks  ${store}

To begin with:

  ${firstCall(url, grpcAddress, card)}

  curl ${quoteUrl(url, card, "message:send")} -H 'content-type: application/json' \\
    -d ${request(card)}

  curl -N ${quoteUrl(url, card, "message:stream")} -H 'content-type: application/json' \\
    -d ${request(card, "streaming")}
`;
}

/** By gRPC where it has a port, else by Connect. */
function firstCall(url: string, grpcAddress: string | undefined, card: AgentCard): string {
  const method = `${A2AService.typeName}/SendMessage`;
  const tenant = card.supportedInterfaces[0]?.tenant ?? "";
  const body = request(card, "", tenant);
  if (grpcAddress === undefined) return `curl ${url}/${method} -H 'content-type: application/json' \\\n    -d ${body}`;
  const plaintext = url.startsWith("https:") ? "" : "-plaintext ";
  return `grpcurl ${plaintext}-d ${body} \\\n    ${grpcAddress} ${method}`;
}

/** The tenant is a part of the path in HTTP+JSON. */
function quoteUrl(url: string, card: AgentCard, operation: string): string {
  const tenant = card.supportedInterfaces[0]?.tenant ?? "";
  return tenant === "" ? `${url}/${operation}` : `${url}/${encodeURIComponent(tenant)}/${operation}`;
}

/** A request in quotes for a shell, with an example of a skill that has the tag, or else of the first skill. */
function request(card: AgentCard, tag = "", tenant = ""): string {
  const skill = card.skills.find(({ tags }) => tags.includes(tag)) ?? card.skills[0];
  const text = skill?.examples[0] ?? "hello";
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text }] };
  const json = JSON.stringify(tenant === "" ? { message } : { tenant, message });
  return `'${json.replaceAll("'", "'\\''")}'`;
}
