import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { GetExtendedAgentCardRequest, SendMessageRequest, type StreamResponse } from "@a2a-js/sdk";
import { type Client, ClientFactory, ClientFactoryOptions } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Receiver } from "../push/receiver.js";
import { pythonEnvironment, pythonWith } from "./support/python.js";
import { KEY, type Started, servers } from "./support/servers.js";
import { cache, persistently, succeed } from "./support/tool.js";

/*
 * Foreign clients with a Parley agent that requires a key and has a card for callers with it. Peculiarities of the Go
 * library 2.3, for which the server has no workaround:
 *
 * - It reads no card that asks for credentials (a2aproject/a2a-go#430), because it expects scopes as a list, where the
 *   contract has an object with a list. The caller has to pass the card in that form. Over gRPC it reads the card for
 *   callers with the key.
 * - Over JSON-RPC it ignores an HTTP error status.
 */

const receiver = await Receiver.start();
let server: Started;

beforeAll(async () => {
  server = await (servers.Parley as (typeof servers)[string])({ pushPort: receiver.port });
}, 60_000);

afterAll(async () => {
  await server?.stop();
  await receiver.stop();
});

const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"];

const kindsOf = (events: readonly unknown[]): unknown[] => events.map((event) => Object.keys(event as object)[0]);

const streamed = ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"];

describe.each(bindings)("the JavaScript library with a key over %s", (binding) => {
  const clientOf = (headers: Readonly<Record<string, string>>): Promise<Client> => {
    const show = {
      before: async (args: { options?: { serviceParameters?: Record<string, string> } }) => {
        args.options = { ...args.options, serviceParameters: { ...args.options?.serviceParameters, ...headers } };
      },
      after: async () => {},
    };
    const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new GrpcTransportFactory()],
      preferredTransports: [binding],
      clientConfig: { interceptors: [show] },
    });
    return new ClientFactory(options).createFromUrl(server.url);
  };
  const say = (text: string): SendMessageRequest =>
    SendMessageRequest.fromJSON({ message: { messageId: text, role: "ROLE_USER", parts: [{ text }] } });

  it("is let in, and without it is not", async () => {
    const client = await clientOf({ "X-Api-Key": KEY });
    const events: StreamResponse[] = [];
    for await (const event of client.sendMessageStream(say("stream 3 4"))) events.push(event);
    expect(events.map(({ payload }) => payload?.$case)).toEqual(streamed);
    expect(await client.sendMessage(say("echo hello"))).toMatchObject({ artifacts: [{ name: "echo" }] });
    const stranger = await clientOf({});
    await expect(stranger.sendMessage(say("echo hello"))).rejects.toThrow(/401|[Cc]redential|[Uu]nauth/);
  });

  it("gets the card for those who show it", async () => {
    const client = await clientOf({ "X-Api-Key": KEY });
    expect(
      await client.transport.getExtendedAgentCard(GetExtendedAgentCardRequest.fromJSON({}), {
        serviceParameters: { "X-Api-Key": KEY },
      }),
    ).toMatchObject({
      name: "Foreign, and more",
      securityRequirements: [{ schemes: { key: { list: [] } } }],
    });
  });
});

describe.each(bindings)("the Python library with a key over %s", (binding) => {
  it("is let in and gets the card for those who show it, and without it is not let in", async () => {
    const here = join(root, "test", "interop", "python-sdk");
    const python = await pythonWith("python-a2a-sdk-1.3.0", join(here, "requirements.txt"));
    const env = { ...process.env, ...pythonEnvironment };
    const seen = JSON.parse(await succeed(python, [join(here, "known.py"), server.url, binding, KEY], { env }));
    expect(seen.stranger).toHaveProperty("error");
    expect(kindsOf(seen.stream)).toEqual(streamed);
    expect(seen.extended).toMatchObject({ name: "Foreign, and more", securitySchemes: { key: expect.anything() } });
    expect(seen.list.totalSize).toBeGreaterThan(0);
  });
});

describe.each(bindings)("the Go library with a key over %s", (binding) => {
  let program: string;

  beforeAll(async () => {
    mkdirSync(cache, { recursive: true });
    program = join(cache, "go-sdk-known");
    const cwd = join(root, "test", "interop", "go-sdk");
    await persistently(() => succeed("go", ["build", "-mod=readonly", "-o", program, "."], { cwd }));
  }, 300_000);

  it("is let in, gets the card for those who show it, sets push configurations, and without it is not let in", async () => {
    const path = `/go/${encodeURIComponent(binding)}`;
    const url = receiver.url(path);
    const seen = JSON.parse(await succeed(program, [server.url, binding, KEY, url])) as JsonObject;
    const mine = { id: "mine", url };
    const unread = expect.stringContaining("securityRequirements.schemes of type a2a.SecuritySchemeScopes");
    expect(seen).toMatchObject({
      card: unread,
      stranger: { reason: binding === "JSONRPC" ? "INTERNAL_ERROR" : "UNAUTHENTICATED" },
      send: { artifacts: [{ name: "echo" }] },
      stream: streamed,
      extended: binding === "GRPC" ? "Foreign, and more" : { message: unread },
      created: mine,
      got: mine,
      listed: [mine],
      answer: { status: { state: "TASK_STATE_COMPLETED" } },
      deleted: null,
      gone: { reason: "TASK_NOT_FOUND" },
    });
    expect(JSON.stringify(seen)).not.toContain("go-token");
    await expect.poll(() => receiver.of(path).at(-1)?.body, { timeout: 20_000 }).toContain("TASK_STATE_COMPLETED");
  });
});
