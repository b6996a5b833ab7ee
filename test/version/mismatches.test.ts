import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, describe, expect, it } from "vitest";
import { A2AService as A2AService03 } from "../../gen/a2a/v1/a2a_pb.js";
import { A2AService, SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { silentLogger } from "../../src/core/log.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import type { ServerOptions } from "../../src/server/options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { versionWarnings } from "../../src/version/mismatch-log.js";
import { setConstantsOfFile } from "../support/constants.js";
import { agent } from "./served.js";

setConstantsOfFile(versionWarnings, { perMinute: 10_000 });

type Lines = { readonly facts: Readonly<Record<string, unknown>>; readonly text: string }[];

interface Opened {
  readonly server: Server;
  readonly lines: Lines;
}

const servers = new Map<string, Promise<Opened>>();
afterAll(async () => {
  for (const each of servers.values()) await (await each).server.close();
});

/** A server with these options, and its warnings. */
function serverWith(options: Partial<ServerOptions>): Promise<Opened> {
  const key = JSON.stringify(options);
  const opened = servers.get(key) ?? open(options);
  servers.set(key, opened);
  return opened;
}

async function open(options: Partial<ServerOptions>): Promise<Opened> {
  const lines: Lines = [];
  const logger = {
    ...silentLogger,
    warn: (facts: object, text: string) => void lines.push({ facts: { ...facts }, text }),
  };
  const server = await createServer({
    agent,
    store: memoryStore(),
    host: "127.0.0.1",
    port: 0,
    grpcPort: 0,
    logger,
    audit: false,
    limits: { shutdownGraceMs: 10 },
    ...options,
  } as ServerOptions);
  return { server, lines };
}

/** Error as a client sees it: the code of its protocol, and a text. */
interface Told {
  readonly code: number | string | undefined;
  readonly text: string;
}

/** A way to call a server by the package of a service. */
const transports: Readonly<Record<string, (server: Server) => Transport>> = {
  grpc: ({ grpcPort }) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${grpcPort}` }),
  "grpc on the HTTP port": ({ port }) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }),
  "grpc-web": ({ port }) => createGrpcWebTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1" }),
  connect: ({ port }) => createConnectTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1" }),
};

type Ask = (server: Server, version: string | undefined) => Promise<Told>;

const headersOf = (version: string | undefined): Record<string, string> =>
  version === undefined ? {} : { "a2a-version": version };

const told = async (answer: Promise<unknown>): Promise<Told> => {
  try {
    await answer;
    return { code: undefined, text: "" };
  } catch (thrown) {
    const { code, rawMessage } = ConnectError.from(thrown);
    return { code: Code[code], text: rawMessage };
  }
};

const part = { part: { case: "text", value: "hello" } } as const;

/** Calls the service of 1.0, or that of 0.3, in one way. */
function byPackage(way: string, name: "0.3" | "1.0", isStream: boolean): Ask {
  return async (server, version) => {
    const transport = (transports[way] as (server: Server) => Transport)(server);
    const headers = headersOf(version);
    if (name === "1.0") {
      const client = createClient(A2AService, transport);
      const request = {
        message: { messageId: "m", role: 1, parts: [{ content: { case: "text", value: "hello" } }] },
      } as never;
      return told(
        isStream ? all(client.sendStreamingMessage(request, { headers })) : client.sendMessage(request, { headers }),
      );
    }
    const client = createClient(A2AService03, transport);
    const request = { request: { messageId: "m", role: 1, content: [part] } } as never;
    return told(
      isStream ? all(client.sendStreamingMessage(request, { headers })) : client.sendMessage(request, { headers }),
    );
  };
}

async function all(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

async function asked(url: string, init: RequestInit): Promise<Told> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.headers.get("content-type")?.includes("json")) return { code: undefined, text: "" };
  const json = JSON.parse(text) as { error?: { code: number; message: string }; code?: number; message?: string };
  const { code = json.code, message = json.message ?? "" } = (json.error ?? {}) as { code?: number; message?: string };
  if (typeof message !== "string" || (json.error === undefined && response.ok)) return { code: undefined, text: "" };
  return { code: response.ok ? code : response.status, text: message };
}

const type = { "content-type": "application/json" };
const said3 = { message: { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hello" }] } };
const said1 = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } };
const proto3 = { message: { messageId: "m", role: "ROLE_USER", content: [{ text: "hello" }] } };

const rpc =
  (method: string, params: object): Ask =>
  ({ port }, version) =>
    asked(`http://127.0.0.1:${port}/`, {
      method: "POST",
      headers: { ...type, ...headersOf(version) },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });

const rest =
  (path: string, body?: object): Ask =>
  ({ port }, version) =>
    asked(`http://127.0.0.1:${port}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { ...type, ...headersOf(version) },
      ...(body && { body: JSON.stringify(body) }),
    });

const everyVersion: Partial<ServerOptions> = {};
const only = (...versions: string[]): Partial<ServerOptions> => ({ versions }) as never;

type Row = readonly [
  what: string,
  ask: Ask,
  version: string | undefined,
  options: Partial<ServerOptions>,
  code: number | string,
  text: RegExp,
  /** Given where the request is refused before it becomes a call, which an agent would serve. */
  isCall?: false,
];

const names = /supported: 1\.0, 0\.3, 0\.2, 0\.1\./;
const namesNone = /The call does not name a version, .*: send A2A-Version: 1\.0 with it\./;
const packages = Object.keys(transports).flatMap((way) => [false, true].map((isStream) => [way, isStream] as const));

const rows: readonly Row[] = [
  ...packages.flatMap(([way, isStream]): Row[] => {
    const [one, three] = [byPackage(way, "1.0", isStream), byPackage(way, "0.3", isStream)];
    const shown = `${way}${isStream ? ", a stream" : ""}`;
    const off = /"?a2a\.v1\.A2AService"? belongs to an earlier version of A2A\. This server speaks A2A 1\.0/;
    return [
      [`1.0 over ${shown}`, one, "7.7", everyVersion, "FailedPrecondition", names],
      [`1.0 over ${shown}`, one, "0.3", everyVersion, "FailedPrecondition", /names A2A version 0\.3, .* path of 1\.0/],
      [`1.0 over ${shown}`, one, "", everyVersion, "FailedPrecondition", namesNone],
      [`1.0 over ${shown}`, one, undefined, { strictVersion: true }, "FailedPrecondition", namesNone],
      [`0.3 over ${shown}`, three, "7.7", everyVersion, "FailedPrecondition", names],
      [
        `0.3 over ${shown}`,
        three,
        "1.0",
        everyVersion,
        "FailedPrecondition",
        /names A2A version 1\.0, .* path of 0\.3/,
      ],
      [`0.3 over ${shown}`, three, undefined, only("1.0"), "Unimplemented", off, false],
      [`0.3 over ${shown}`, three, "0.3", only("1.0", "0.2"), "Unimplemented", off, false],
    ];
  }),
  ["SendMessage", rpc("SendMessage", said1), "7.7", everyVersion, -32009, names],
  [
    "SendMessage",
    rpc("SendMessage", said1),
    "0.3",
    everyVersion,
    -32601,
    /"SendMessage" is a method of A2A 1\.0/,
    false,
  ],
  ["SendMessage", rpc("SendMessage", said1), "", everyVersion, -32009, namesNone],
  ["SendMessage", rpc("SendMessage", said1), undefined, { strictVersion: true }, -32009, namesNone],
  [
    "SendStreamingMessage",
    rpc("SendStreamingMessage", said1),
    "0.1",
    everyVersion,
    -32601,
    /a method of A2A 1\.0/,
    false,
  ],
  ["message/send", rpc("message/send", said3), "1.0", everyVersion, -32601, /a method of A2A 0\.3/, false],
  ["message/stream", rpc("message/stream", said3), "7.7", everyVersion, -32009, names, false],
  ["message/stream", rpc("message/stream", said3), "1.0", everyVersion, -32601, /a method of A2A 0\.3/, false],
  [
    "message/send",
    rpc("message/send", said3),
    undefined,
    only("1.0"),
    -32601,
    /where the method is SendMessage\./,
    false,
  ],
  ["tasks/send", rpc("tasks/send", {}), "0.3", everyVersion, -32601, /"tasks\/send" is a method of A2A 0\.1/, false],
  [
    "tasks/send",
    rpc("tasks/send", {}),
    undefined,
    only("1.0", "0.3"),
    -32601,
    /where the method is SendMessage\./,
    false,
  ],
  ["tasks/list", rpc("tasks/list", {}), undefined, everyVersion, -32601, /where the method is ListTasks\./, false],
  ["/message:send", rest("/message:send", said1), "7.7", everyVersion, 400, names],
  ["/message:send", rest("/message:send", said1), "", everyVersion, 400, namesNone],
  ["/message:send", rest("/message:send", said1), undefined, { strictVersion: true }, 400, namesNone],
  [
    "/message:send",
    rest("/message:send", said1),
    "0.3",
    everyVersion,
    404,
    /in A2A 0\.3, .* are those of 1\.0\./,
    false,
  ],
  ["/v1/message:send", rest("/v1/message:send", proto3), "7.7", everyVersion, 400, names],
  [
    "/v1/message:send",
    rest("/v1/message:send", proto3),
    "1.0",
    everyVersion,
    400,
    /Paths below \/v1 are those of A2A 0\.3/,
    false,
  ],
  [
    "/v1/message:send",
    rest("/v1/message:send", proto3),
    "0.2",
    everyVersion,
    404,
    /in A2A 0\.2, .* are those of 0\.3\./,
    false,
  ],
  [
    "/v1/message:send",
    rest("/v1/message:send", proto3),
    undefined,
    only("1.0"),
    400,
    /Paths below \/v1 belong to an earlier/,
    false,
  ],
  ["/v1/card", rest("/v1/card"), "1.0", everyVersion, 404, /in A2A 1\.0, .* are those of 0\.3\./, false],
  ["/v1/card", rest("/v1/card"), "0.2", everyVersion, 404, /in A2A 0\.2, .* are those of 0\.3\./, false],
  [
    "/v1/card",
    rest("/v1/card"),
    "0.2",
    only("1.0", "0.2"),
    404,
    /Paths below \/v1 belong to an earlier version/,
    false,
  ],
  ["/v1/card", rest("/v1/card"), "1.1", { preview: "1.1" }, 404, /in A2A 1\.1, .* are those of 0\.3\./, false],
  [
    "/v1/message:send",
    rest("/v1/message:send", proto3),
    "1.1",
    { preview: "1.1" },
    400,
    /those of A2A 0\.3 .* name 1\.1/,
    false,
  ],
  [
    "the extended card of 0.2",
    rest("/agent/authenticatedExtendedCard"),
    "0.3",
    everyVersion,
    404,
    /are those of 0\.2\./,
    false,
  ],
  [
    "the extended card of 0.2",
    rest("/agent/authenticatedExtendedCard"),
    undefined,
    only("1.0"),
    404,
    /below \/agent belong/,
    false,
  ],
];

describe("a call whose version does not fit has one answer that says why, and one line in the log", () => {
  it.each(rows.map((row) => [row[0], row] as const))("%s %#", async (_what, row) => {
    const [, ask, version, options, code, text, isCall = true] = row;
    const { server, lines } = await serverWith(options);
    lines.length = 0;
    const answer = await ask(server, version);
    expect(answer).toEqual({ code, text: expect.stringMatching(text) });
    expect(lines).toEqual([
      {
        facts: {
          ...{ binding: expect.any(String), asked: expect.stringMatching(/./), version, peer: "127.0.0.1" },
          requestId: expect.any(String),
          ...(isCall && { agent: "Probe" }),
        },
        text: expect.stringMatching(text),
      },
    ]);
  });
});

describe("a call whose version fits", () => {
  const fitting: readonly (readonly [string, Ask, string | undefined])[] = [
    ...packages.flatMap(([way, isStream]) => [
      [`1.0 over ${way}`, byPackage(way, "1.0", isStream), undefined] as const,
      [`1.0 over ${way}`, byPackage(way, "1.0", isStream), "1.0"] as const,
      [`0.3 over ${way}`, byPackage(way, "0.3", isStream), undefined] as const,
      [`0.3 over ${way}`, byPackage(way, "0.3", isStream), ""] as const,
      [`0.3 over ${way}`, byPackage(way, "0.3", isStream), "0.3"] as const,
    ]),
    ["SendMessage", rpc("SendMessage", said1), "1.0.7"],
    ["message/send", rpc("message/send", said3), undefined],
    ["message/send", rpc("message/send", said3), "0.2"],
    ["/v1/message:send", rest("/v1/message:send", proto3), "0.3"],
    ["/v1/message:send of the tenant", rest("/v1/message:send", said1), "1.0"],
  ];
  it.each(fitting)("has no line: %s, %#", async (_what, ask, version) => {
    const { server, lines } = await serverWith(everyVersion);
    lines.length = 0;
    expect(await ask(server, version)).toEqual({ code: undefined, text: "" });
    expect(lines).toEqual([]);
  });
});

it("a method that a service of no version has is refused without a line: nothing says that a version was meant", async () => {
  const { server, lines } = await serverWith(only("1.0"));
  lines.length = 0;
  const body = toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema));
  const answer = await fetch(`http://127.0.0.1:${server.port}/b2b.v1.Other/Do`, {
    method: "POST",
    headers: { "content-type": "application/proto" },
    body,
  });
  expect([answer.status, lines]).toEqual([404, []]);
});
