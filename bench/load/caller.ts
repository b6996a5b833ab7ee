/** A client that is measured, a process of its own: `caller <kind> <binding> <url of HTTP> <port of gRPC>`. */

import { randomUUID } from "node:crypto";
import { connect as connectHttp2 } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Agent, request } from "undici";
import { A2AService, type Message, MessageSchema, Role, SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Binding } from "../../src/client/discovery/interfaces.js";
import { connect } from "../../src/client/index.js";
import { REPLY_TEXT } from "../servers/answers.js";
import { answerQuestions } from "../servers/child.js";

/** Asks a caller for calls during `ms` milliseconds, `callers` of them at once. */
export interface CallsQuestion {
  readonly callers: number;
  readonly ms: number;
}

/** Sends a message and gives the text of the answer. */
export type Say = (text: string) => Promise<string>;

const QUESTION = "What is the weather?";

const [, , kind = "", binding = "", url = "", grpcPort = ""] = process.argv;

const card = {
  name: "Bench",
  description: "Answers as fast as it can.",
  version: "1.0.0",
  supportedInterfaces: [
    { url: binding === "GRPC" ? `127.0.0.1:${grpcPort}` : url, protocolBinding: binding, protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
};

const messageOf = (text: string): Message =>
  create(MessageSchema, {
    messageId: randomUUID(),
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } }],
  });

function textOf(message: Message | undefined): string {
  const content = message?.parts[0]?.content;
  return content?.case === "text" ? content.value : "";
}

async function parley(): Promise<Say> {
  const client = await connect(card, { bindings: [binding as Binding] });
  return async (text) => {
    const { payload } = await client.sendMessage({ message: messageOf(text) });
    return payload.case === "message" ? textOf(payload.value) : "";
  };
}

/** Calls by Connect's own client over gRPC, with the one header that the protocol requires. */
function bareGrpc(): Say {
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${grpcPort}` });
  const client = createClient(A2AService, transport);
  return async (text) => {
    const { payload } = await client.sendMessage({ message: messageOf(text) }, { headers: { "A2A-Version": "1.0" } });
    return payload.case === "message" ? textOf(payload.value) : "";
  };
}

/** Calls by plain node:http2 without a codec: it encodes its message once, and counts the bytes of answers. */
function bareHttp2(): Say {
  const session = connectHttp2(`http://127.0.0.1:${grpcPort}`);
  const message = toBinary(
    SendMessageRequestSchema,
    create(SendMessageRequestSchema, { message: messageOf(QUESTION) }),
  );
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  const headers = {
    ":method": "POST",
    ":path": "/lf.a2a.v1.A2AService/SendMessage",
    "content-type": "application/grpc",
    te: "trailers",
    "a2a-version": "1.0",
  };
  return () =>
    new Promise((resolve, reject) => {
      const stream = session.request(headers, { endStream: false });
      let bytes = 0;
      stream.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      stream.on("trailers", () => resolve(bytes > 5 ? REPLY_TEXT : ""));
      stream.on("error", reject);
      stream.end(framed);
    });
}

/** Calls by plain undici with JSON. */
function bareJson(callers: number): Say {
  const dispatcher = new Agent({ connections: callers });
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  const isRpc = binding === "JSONRPC";
  const target = isRpc ? url : `${url}/message:send`;
  let id = 0;
  return async (text) => {
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
    const body = isRpc ? { jsonrpc: "2.0", id: ++id, method: "SendMessage", params: { message } } : { message };
    const answer = await request(target, { method: "POST", headers, body: JSON.stringify(body), dispatcher });
    const json = (await answer.body.json()) as { result?: Answered } & Answered;
    return (isRpc ? json.result : json)?.message?.parts[0]?.text ?? "";
  };
}

interface Answered {
  readonly message?: { readonly parts: readonly { readonly text?: string }[] };
}

async function sdk(): Promise<Say> {
  // Its types are in the folder of the bench alone.
  const { sdkSay } = (await import(new URL("./sdk-caller.js", import.meta.url).href)) as {
    sdkSay: (card: object, binding: string) => Promise<Say>;
  };
  return sdkSay(card, binding);
}

async function sayOf(): Promise<Say> {
  if (kind === "parley") return parley();
  if (kind === "sdk") return sdk();
  if (kind === "http2") return bareHttp2();
  return binding === "GRPC" ? bareGrpc() : bareJson(MOST_CALLERS);
}

/** Connections of the bare client: as many as there are ever callers. */
const MOST_CALLERS = 50;

const say = await sayOf();

async function calls({ callers, ms }: CallsQuestion): Promise<object> {
  let count = 0;
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const caller = async (): Promise<void> => {
    for (; performance.now() - begin < ms; count++) {
      const text = await say(QUESTION);
      if (text !== REPLY_TEXT) throw new Error(`the answer was ${JSON.stringify(text)}`);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const { user, system } = process.cpuUsage(cpu);
  return { calls: count, ms: performance.now() - begin, cpuMs: (user + system) / 1_000 };
}

answerQuestions(calls, {});
