/**
 * The floor of HTTP: node:http and nothing else. `json` parses and prints JSON; `codec` also reads and writes the
 * messages of the protocol with protobuf-es.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { create, fromJson, toJson } from "@bufbuild/protobuf";
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

const answer = process.argv[2] === "codec" ? codec : plain;

function handle(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const text = JSON.stringify(answer(Buffer.concat(chunks).toString()));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
    response.end(text);
  });
}

const server = createServer(handle);
server.listen(0, "127.0.0.1", () => {
  serve({ http: (server.address() as AddressInfo).port, restPath: "" });
});
