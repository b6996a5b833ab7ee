import type { Interceptor } from "@connectrpc/connect";
import type { A2AClient } from "../../../src/client/web.js";
import { loginOptionsFor } from "../agents/credentials.js";
import { connectTo } from "../api/agents.js";
import { nameOf, type Speech, speechesOf, speechNamed } from "./speech.js";

/** A connected agent, and the ways to speak with it. */
export interface Connected {
  readonly client: A2AClient;
  readonly speeches: readonly Speech[];
}

/**
 * Connects a conversation to its agent. A conversation has a client of its own, because its connections are cut and its
 * way of speaking is chosen apart from those of others.
 */
export async function connectTalk(
  agent: string,
  speech: string | undefined,
  interceptor: Interceptor,
): Promise<Connected> {
  const interceptors = [interceptor];
  const chosen = speechNamed(speech);
  const client = await connectTo(agent, {
    interceptors,
    ...loginOptionsFor(agent),
    ...(chosen !== undefined && { bindings: [chosen.binding], version: chosen.version }),
  });
  return { client, speeches: speechesOf(client.card) };
}

/** The way that a client speaks now. */
export function speechOf({ client, speeches }: Connected, chosen: string | undefined): string {
  const { protocolBinding, protocolVersion } = client.interface;
  const first = speeches.find(
    (each) => each.version === protocolVersion.slice(0, 3) && protocolBinding.includes(each.binding),
  );
  return chosen ?? nameOf(first ?? speeches[0] ?? { binding: "JSONRPC", version: "1.0" });
}
