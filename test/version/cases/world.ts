import type { Agent } from "../../../src/agent/agent.js";
import type { Authenticator } from "../../../src/auth/authenticator.js";
import { httpBearerScheme } from "../../../src/auth/http-bearer.js";
import { createServer, type Server } from "../../../src/server/create-server.js";
import type { ServerOptions } from "../../../src/server/options.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { HttpClient } from "../../support/http.js";
import { execute } from "./agent.js";
import type { ServerSettings } from "./case.js";
import { GrpcClient } from "./grpc-client.js";
import { Webhook } from "./webhook.js";

export const token = "token-of-the-tester";
export const extension = "urn:example:ext:cases:v1";

/** A server of the cases, and its clients. */
export interface World {
  readonly url: string;
  readonly http: HttpClient;
  readonly grpc: GrpcClient;
  readonly webhook: Webhook;
}

/** Authenticates every caller without credentials, because only authenticated callers get the extended card. */
const everybody: Authenticator = { authenticate: () => ({ owner: "tester" }) };

const skill = { id: "echo", name: "Echo", description: "Repeats what it is told.", tags: ["echo"] };

/** The card of the agent. */
export const caseCard = {
  name: "Case Agent",
  description: "Does what the cases count on.",
  version: "1.0.0",
  skills: [skill],
  defaultInputModes: ["*/*"],
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extensions: [{ uri: extension, description: "An extension of tests." }],
  },
};

function agentOf({ streaming = true, pushNotifications = true, extendedCard = true, auth }: ServerSettings): Agent {
  const card = { ...caseCard, capabilities: { ...caseCard.capabilities, streaming, pushNotifications } };
  return {
    card,
    responds: "either",
    ...(auth && { security: { schemes: { bearer: httpBearerScheme({ tokens: [{ owner: "tester", token }] }) } } }),
    ...(extendedCard && { extendedCard: { ...card, skills: [skill, { ...skill, id: "more", name: "More" }] } }),
    execute,
  };
}

function optionsOf(settings: ServerSettings, webhook: Webhook): ServerOptions {
  const { pushNotifications = true, auth, cards } = settings;
  // A card of 0.1 alone is shown by a server that speaks no version between that and 1.0.
  const versions = cards === undefined ? {} : { versions: ["1.0", ...cards] };
  return {
    ...versions,
    agent: agentOf(settings),
    ...(auth === undefined && { authenticator: everybody }),
    ...(pushNotifications && { push: { allowHttp: true, ports: [webhook.port], allow: ["127.0.0.1"] } }),
    store: memoryStore(),
    host: "127.0.0.1",
    port: 0,
    grpcPort: 0,
    limits: { shutdownGraceMs: 50 },
  };
}

/** One server for each settings, started when a case first needs it. */
export class Worlds {
  readonly #worlds = new Map<string, Promise<World & { server: Server }>>();
  #webhook: Promise<Webhook> | undefined;

  get(settings: ServerSettings = {}): Promise<World> {
    const key = JSON.stringify(settings);
    const world = this.#worlds.get(key) ?? this.#start(settings);
    this.#worlds.set(key, world);
    return world;
  }

  async close(): Promise<void> {
    const worlds = await Promise.allSettled(this.#worlds.values());
    for (const world of worlds) {
      if (world.status === "rejected") continue;
      world.value.http.close();
      world.value.grpc.close();
      await world.value.server.close();
    }
    await (await this.#webhook)?.close();
  }

  async #start(settings: ServerSettings): Promise<World & { server: Server }> {
    this.#webhook ??= Webhook.open();
    const webhook = await this.#webhook;
    return open(optionsOf(settings, webhook), webhook);
  }
}

async function open(options: ServerOptions, webhook: Webhook): Promise<World & { server: Server }> {
  const server = await createServer(options);
  return {
    server,
    webhook,
    url: `http://127.0.0.1:${server.port}`,
    http: new HttpClient(),
    grpc: new GrpcClient(`127.0.0.1:${server.grpcPort}`),
  };
}

/** A server of its own, with some options that differ. */
export async function openWorld(more: Partial<ServerOptions> = {}): Promise<World & { close(): Promise<void> }> {
  const webhook = await Webhook.open();
  // A server takes no authenticator if its agent declares its own security.
  const settings: ServerSettings = more.agent?.security === undefined ? {} : { auth: "bearer" };
  const { server, ...world } = await open({ ...optionsOf(settings, webhook), ...more }, webhook);
  const close = async (): Promise<void> => {
    world.http.close();
    world.grpc.close();
    await server.close();
    await webhook.close();
  };
  return { ...world, close };
}
