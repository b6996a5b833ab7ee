/**
 * The floor of HTTP: node:http and nothing else. `json` parses and prints JSON; `codec` also reads and writes the
 * messages of the protocol with protobuf-es, and `spans` does so in two spans: one of the call and one of its work.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { create, fromJson, toJson } from "@bufbuild/protobuf";
import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import {
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SendMessageResponse,
  SendMessageResponseSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { replyTo } from "./answers.js";
import { serve } from "./child.js";

/** Ids are as long as those of a server that makes unique ones: answers carry the same fields and the same bytes. */
let counter = 0;
const newId = (): string => String(counter++).padStart(36, "0");

function reply({ message }: SendMessageRequest): SendMessageResponse {
  const content = message?.parts[0]?.content;
  const value = {
    messageId: newId(),
    contextId: message?.contextId || newId(),
    role: Role.AGENT,
    parts: [{ content: { case: "text", value: replyTo(content?.case === "text" ? content.value : "") } as const }],
  };
  return create(SendMessageResponseSchema, { payload: { case: "message", value } });
}

function plain(body: string): unknown {
  const { message } = JSON.parse(body) as { message: { contextId?: string; parts: { text: string }[] } };
  const parts = [{ text: replyTo(message.parts[0]?.text ?? "") }];
  return { message: { messageId: newId(), contextId: message.contextId || newId(), role: "ROLE_AGENT", parts } };
}

function codec(body: string): unknown {
  const request = fromJson(SendMessageRequestSchema, JSON.parse(body), { ignoreUnknownFields: true });
  return toJson(SendMessageResponseSchema, reply(request));
}

const tracer = trace.getTracer("bare");

/** Attributes of a call's span, which samplers see. */
const attributes = { "rpc.method": "lf.a2a.v1.A2AService/SendMessage" };

/** Attributes of a span that is sampled: as many as Parley sets. */
const DETAILS = Array.from({ length: 14 }, (_, at) => [`bare.attribute.${at}`, "a value of usual length"] as const);

function spanned(request: IncomingMessage, response: ServerResponse): void {
  const parent = propagation.extract(context.active(), request.headers);
  const span = tracer.startSpan("SendMessage", { kind: SpanKind.SERVER, attributes }, parent);
  const inner = trace.setSpan(parent, span);
  response.once("finish", () => span.end());
  context.with(inner, () => {
    // A call that is not sampled has no further spans.
    if (!span.isRecording()) return handle(request, response);
    const work = tracer.startSpan("work", {}, inner);
    for (const [key, value] of DETAILS) span.setAttribute(key, value);
    response.once("finish", () => work.end());
    context.with(trace.setSpan(inner, work), () => handle(request, response));
  });
}

const mode = process.argv[2];
const answer = mode === "json" ? plain : codec;

function handle(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const text = JSON.stringify(answer(Buffer.concat(chunks).toString()));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
    response.end(text);
  });
}

const server = createServer(mode === "spans" ? spanned : handle);
server.listen(0, "127.0.0.1", () => {
  serve({ http: (server.address() as AddressInfo).port, restPath: "" });
});
