import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Role, SendMessageRequestSchema, SendMessageResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { mutualTlsScheme } from "../../src/auth/index.js";
import { bindings } from "../../src/client/discovery/interfaces.js";
import { connect } from "../../src/client/index.js";
import { A2AError } from "../../src/core/error.js";
import { type Agent, createServer, reply, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { Certificates, type Pair } from "../server/certificates.js";
import { testTls } from "../server/tls.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const certificates = new Certificates();
const kind = "rsa:2048";
const authority = certificates.make("authority", { kind });
const impostor = certificates.make("authority", { kind });

const good = certificates.make("nightly", { by: authority, kind });

/** A client's certificate, and the expected result: the owner, a refusal, or a connection closed by TLS. */
const shown: Record<string, readonly [Pair | undefined, RegExp]> = {
  "the right certificate": [good, /^CN=nightly$/],
  "one for clients alone": [certificates.make("nightly", { by: authority, usage: "clientAuth" }), /^CN=nightly$/],
  "one of an elliptic curve": [certificates.make("nightly", { by: authority, kind: "ec" }), /^CN=nightly$/],
  "no certificate": [undefined, /^refused$/],
  // OpenSSL keeps the error of a wrong signature. Node.js takes it for a connection error and closes the connection.
  "one of another authority by the same name": [certificates.make("nightly", { by: impostor }), /^(?:refused|closed)$/],
  "one that signs itself": [certificates.make("nightly"), /^refused$/],
  "one that has expired": [certificates.make("nightly", { by: authority, to: "20210101000000Z" }), /^refused$/],
  "one that is not valid yet": [certificates.make("nightly", { by: authority, from: "21100101000000Z" }), /^refused$/],
  "one for servers alone": [certificates.make("nightly", { by: authority, usage: "serverAuth" }), /^refused$/],
};

const agent: Agent = {
  card: { name: "Certified", description: "Says who calls.", version: "1.0.0" },
  responds: "message",
  security: { schemes: { client: mutualTlsScheme() } },
  async *execute({ caller }) {
    yield reply(`<${caller.owner}>`);
  },
};

let server: Server;
let behindProxy: Server;
beforeAll(async () => {
  const options = { agent, port: 0, grpcPort: 0, tls: { ...testTls, ca: authority.cert } };
  server = await createServer({ ...options, store: memoryStore() });
  behindProxy = await createServer({ ...options, store: memoryStore(), trustProxy: "loopback" });
});
afterAll(async () => {
  await server.close();
  await behindProxy.close();
  certificates.clean();
});

type Headers = Readonly<Record<string, string>>;
/** Sends a message and returns the owner that the agent saw, or how the call ended. */
type Way = (to: Server, pair: Pair | undefined, headers?: Headers) => Promise<string>;

const message = () => ({ messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "who?" }] });
function told(text: string): string {
  if (/UNAUTHENTICATED|"unauthenticated"/.test(text)) return "refused";
  return /UNAVAILABLE|^$/.test(text) ? "closed" : (/<([^>]*)>/.exec(text)?.[1] ?? text);
}

function grpcJs(to: Server, port: number | undefined, pair: Pair | undefined, headers: Headers): Promise<string> {
  const pem = (text?: string): Buffer | null => (text === undefined ? null : Buffer.from(text));
  const secure = credentials.createSsl(Buffer.from(testTls.cert), pem(pair?.key), pem(pair?.cert));
  const client = new Client(`localhost:${port ?? to.port}`, secure);
  const parts = [{ content: { case: "text" as const, value: "who?" } }];
  const request = create(SendMessageRequestSchema, { message: { messageId: "m", role: Role.USER, parts } });
  const metadata = new Metadata();
  for (const [name, value] of Object.entries({ "a2a-version": "1.0", ...headers })) metadata.set(name, value);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest<unknown, Buffer>(
      "/lf.a2a.v1.A2AService/SendMessage",
      () => Buffer.from(toBinary(SendMessageRequestSchema, request)),
      (bytes) => bytes,
      request,
      metadata,
      (error: ServiceError | null, bytes?: Buffer) => {
        client.close();
        if (error !== null) return resolve(told(error.message));
        if (bytes === undefined) return reject(new Error("The call brought nothing."));
        resolve(told(JSON.stringify(fromBinary(SendMessageResponseSchema, bytes))));
      },
    );
  });
}

async function overHttp2(to: Server, pair: Pair | undefined, path: string, body: object, headers: Headers) {
  const session = connectHttp2(`https://localhost:${to.port}`, { ca: testTls.cert, ...pair });
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/json",
    "a2a-version": "1.0",
    ...headers,
  });
  stream.end(JSON.stringify(body));
  let text = "";
  stream.on("data", (chunk) => {
    text += String(chunk);
  });
  await once(stream, "end");
  session.close();
  return told(text);
}

const ways: Record<string, Way> = {
  "gRPC, grpc-js": (to, pair, headers = {}) => grpcJs(to, to.grpcPort, pair, headers),
  "gRPC on the HTTP port, grpc-js": (to, pair, headers = {}) => grpcJs(to, to.port, pair, headers),
  "JSON-RPC over HTTP/2": (to, pair, headers = {}) => {
    const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: message() } };
    return overHttp2(to, pair, "/", body, headers);
  },
  "HTTP+JSON over HTTP/2": (to, pair, headers = {}) =>
    overHttp2(to, pair, "/message:send", { message: message() }, headers),
  "Connect over HTTP/2": (to, pair, headers = {}) =>
    overHttp2(to, pair, "/lf.a2a.v1.A2AService/SendMessage", { message: message() }, headers),
  ...Object.fromEntries(
    bindings.map((binding): [string, Way] => [
      `${binding}, our client`,
      async (to, pair, headers = {}) => {
        const tls = { ca: testTls.cert, ...pair };
        const client = await connect(`https://localhost:${to.port}`, {
          bindings: [binding],
          tls,
          card: { cache: false },
        });
        try {
          return told((await client.send("who?", { headers })).text);
        } catch (error) {
          if (error instanceof A2AError) return told(error.reason);
          throw error;
        } finally {
          await client.close();
        }
      },
    ]),
  ),
};

describe.each(Object.entries(ways))("mutualTls over %s", (_title, call) => {
  it.each(Object.entries(shown))("judges %s", async (_name, [pair, end]) => {
    expect(await call(server, pair)).toMatch(end);
  });

  it.each([
    ["without a header", {}],
    ["with X-Forwarded-For", { "x-forwarded-for": "192.0.2.1", "x-forwarded-proto": "https" }],
    ["with Forwarded", { forwarded: "for=192.0.2.1;proto=https" }],
    [
      "with a certificate in a header",
      { "x-forwarded-client-cert": 'Subject="CN=nightly"', "x-client-cert": "CN=nightly" },
    ],
  ])("takes no certificate of a trusted proxy for its client's, %s", async (_name, headers) => {
    expect(await call(behindProxy, good, headers)).toBe("refused");
  });
});
