import { type Client, credentials, Client as GrpcClient, type MethodDefinition, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { apiKeyScheme } from "../../src/auth/index.js";
import { createServer, type Server, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { WELL_KNOWN_PATH } from "../../src/wire/card-names.js";
import { keyPair } from "../card/signing/keys.js";
import { obedient } from "../conformance/agents.js";
import { healthService, reflectionVersions } from "../support/grpc-services.js";

/* Endpoints that need no credentials although all calls do: cards, keys, health and reflection, if it is enabled. */

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(more: Partial<ServerOptions> = {}): Promise<Server> {
  const key = apiKeyScheme({ in: "header", name: "X-Key", keys: [{ owner: "alice", key: "key-of-alice-4711" }] });
  const server = await createServer({
    agent: { ...obedient("closed"), security: { schemes: { key } } },
    store: memoryStore(),
    cardSigning: { keys: [{ key: keyPair().pem, kid: "k1" }] },
    port: 0,
    grpcPort: 0,
    limits: { shutdownGraceMs: 50 },
    ...more,
  });
  closing.push(() => server.close());
  return server;
}

/** gRPC clients of both ports. */
function clients({ port, grpcPort }: Server): Client[] {
  return [port, grpcPort].map((each) => {
    const client = new GrpcClient(`127.0.0.1:${each}`, credentials.createInsecure());
    closing.push(() => client.close());
    return client;
  });
}

type Method = MethodDefinition<object, object>;

function unary(client: Client, { path, requestSerialize, responseDeserialize }: Method): Promise<unknown> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, (error, answer) =>
      error === null ? resolve(answer) : reject(error),
    );
  });
}

function firstOf(
  client: Client,
  { path, requestSerialize, responseDeserialize }: Method,
  asked: object,
): Promise<unknown> {
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  return new Promise((resolve, reject) => {
    stream.on("data", resolve).on("error", reject);
    stream.end(asked);
  });
}

describe("a server whose calls all need credentials", () => {
  it("shows its card, its keys and its health to everybody, and tasks to nobody", async () => {
    const { url } = await serve();
    const statusOf = async (path: string): Promise<number> => (await fetch(url + path)).status;
    for (const path of [WELL_KNOWN_PATH, "/.well-known/jwks.json", "/healthz", "/readyz"]) {
      expect([path, await statusOf(path)]).toEqual([path, 200]);
    }
    for (const path of ["/tasks", "/tasks/x", "/extendedAgentCard"]) {
      expect([path, await statusOf(path)]).toEqual([path, 401]);
    }
  });

  it("answers gRPC's health and reflection on both ports, wrong credentials or not", async () => {
    const server = await serve({ limits: { shutdownGraceMs: 50, maxFailedAttempts: 1 } });
    // The limit of failed attempts does not apply to these endpoints either.
    for (let i = 0; i < 3; i++) await fetch(`${server.url}/tasks`, { headers: { "x-key": "a-wrong-key-0815" } });
    for (const client of clients(server)) {
      expect(await unary(client, healthService.Check)).toMatchObject({ status: "SERVING" });
      for (const [, method] of reflectionVersions) {
        expect(JSON.stringify(await firstOf(client, method, { listServices: "" }))).toContain("lf.a2a.v1.A2AService");
      }
    }
  });

  it("has no reflection where it is off, and health all the same", async () => {
    for (const client of clients(await serve({ reflection: false }))) {
      expect(await unary(client, healthService.Check)).toMatchObject({ status: "SERVING" });
      for (const [, method] of reflectionVersions) {
        await expect(firstOf(client, method, { listServices: "" })).rejects.toMatchObject({
          code: status.UNIMPLEMENTED,
        });
      }
    }
  });
});
