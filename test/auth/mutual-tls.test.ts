import * as https from "node:https";
import { type Client, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { A2AService, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { mutualTlsScheme } from "../../src/auth/index.js";
import { type Agent, createServer, reply, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { WELL_KNOWN_PATH } from "../../src/wire/card-names.js";
import { Certificates, type Pair } from "../server/certificates.js";
import { testTls } from "../server/tls.js";
import { Log } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const certificates = new Certificates();
const known = certificates.make("nightly");
const stranger = certificates.make("nightly");
const expired = certificates.make("late", { to: "20210101000000Z" });
const early = certificates.make("early", { from: "21100101000000Z" });

const agent: Agent = {
  card: { name: "Certified", description: "Says who calls.", version: "1.0.0" },
  responds: "message",
  security: { schemes: { client: mutualTlsScheme({ scopes: () => ["run"] }) }, require: [{ client: ["run"] }] },
  async *execute({ caller }) {
    yield reply(`${caller.owner} ${(caller.claims.certificate as { fingerprint: string }).fingerprint.length}`);
  },
};

let server: Server;
const log = new Log();
beforeAll(async () => {
  const tls = { ...testTls, ca: known.cert + expired.cert + early.cert };
  server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: 0, tls, logger: log });
});
afterAll(async () => {
  await server.close();
  certificates.clean();
});

/** Certificates that are refused. Undefined stands for a client without a certificate. */
const wrong: readonly (Pair | undefined)[] = [undefined, stranger, expired, early];

/** Every way to call over TLS, on both ports. */
const ways: Record<string, (options: object) => Transport> = {
  "Connect, HTTP/1.1": (nodeOptions) =>
    createConnectTransport({ baseUrl: url(server.port), httpVersion: "1.1", nodeOptions }),
  "Connect, HTTP/2": (nodeOptions) =>
    createConnectTransport({ baseUrl: url(server.port), httpVersion: "2", nodeOptions }),
  "gRPC-Web": (nodeOptions) => createGrpcWebTransport({ baseUrl: url(server.port), httpVersion: "1.1", nodeOptions }),
  "gRPC on the HTTP port": (nodeOptions) => createGrpcTransport({ baseUrl: url(server.port), nodeOptions }),
  "gRPC on its own port": (nodeOptions) => createGrpcTransport({ baseUrl: url(server.grpcPort ?? 0), nodeOptions }),
};

const url = (port: number): string => `https://localhost:${port}`;
const shows = (pair?: Pair): object => ({ ca: testTls.cert, ...pair, sessionTimeout: 1 });

async function send(way: string, pair?: Pair): Promise<unknown> {
  const client: Client<typeof A2AService> = createClient(
    A2AService,
    (ways[way] as never as (o: object) => Transport)(shows(pair)),
  );
  const parts = [{ content: { case: "text" as const, value: "who?" } }];
  try {
    const { payload } = await client.sendMessage({ message: { messageId: "m", role: Role.USER, parts } });
    return payload.case === "message" ? payload.value.parts[0]?.content.value : payload.case;
  } catch (error) {
    const refused = ConnectError.from(error);
    return [refused.rawMessage, refused.metadata.get("www-authenticate")];
  }
}

const refusal = ["Valid credentials are required.", 'MutualTLS realm="client"'];

describe.each(Object.keys(ways))("mutualTls over %s", (way) => {
  it("gives the caller the subject of its certificate", async () => {
    expect(await send(way, known)).toBe("CN=nightly 95");
  });

  it("refuses callers without a certificate, and with one of another authority, that has expired or is not valid yet", async () => {
    for (const pair of wrong) expect(await send(way, pair)).toEqual(refusal);
  });
});

describe("mutualTls over HTTP/1.1", () => {
  const exchange = (path: string, body: object | undefined, pair?: Pair): Promise<[number, string]> =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json", "a2a-version": "1.0" };
      const method = body === undefined ? "GET" : "POST";
      const request = https.request(url(server.port) + path, { ...shows(pair), method, headers }, async (answer) => {
        let text = "";
        for await (const chunk of answer) text += String(chunk);
        resolve([answer.statusCode ?? 0, text]);
      });
      request.on("error", reject);
      request.end(body && JSON.stringify(body));
    });
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "who?" }] };

  it("admits calls of JSON-RPC and REST by the connection's certificate", async () => {
    const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    for (const [path, body] of [
      ["/", rpc],
      ["/message:send", { message }],
    ] as const) {
      const [status, text] = await exchange(path, body, known);
      expect([status, text.includes("CN=nightly")]).toEqual([200, true]);
      for (const pair of wrong) expect((await exchange(path, body, pair))[1]).toContain("UNAUTHENTICATED");
    }
  });

  it("leaves the card to everybody, and the card says it", async () => {
    const [status, text] = await exchange(WELL_KNOWN_PATH, undefined);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ securitySchemes: { client: { mtlsSecurityScheme: {} } } });
  });
});

describe("mutualTls without authorities", () => {
  it("is warned of", async () => {
    const own = new Log();
    const alone = await createServer({
      agent,
      store: memoryStore(),
      port: 0,
      grpcPort: false,
      tls: testTls,
      logger: own,
    });
    expect(own.text).toContain("tls.ca");
    await alone.close();
  });

  it("and authorities that are none are refused", async () => {
    const options = { agent, store: memoryStore(), port: 0, grpcPort: false as const };
    await expect(createServer({ ...options, tls: { ...testTls, ca: "none" } })).rejects.toThrow(
      "tls: ca has no certificate",
    );
  });
});
