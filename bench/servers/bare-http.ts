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
import { REPLY_TEXT } from "./answers.js";
import { serve } from "./child.js";

let counter = 0;

function reply(request: SendMessageRequest): SendMessageResponse {
  const value = {
    messageId: `reply-${counter++}`,
    contextId: request.message?.contextId ?? "",
    role: Role.AGENT,
    parts: [{ content: { case: "text", value: REPLY_TEXT } as const }],
  };
  return create(SendMessageResponseSchema, { payload: { case: "message", value } });
}

function plain(): unknown {
  const message = { messageId: `reply-${counter++}`, role: "ROLE_AGENT", parts: [{ text: REPLY_TEXT }] };
  return { message };
}

function codec(body: string): unknown {
  const request = fromJson(SendMessageRequestSchema, JSON.parse(body), { ignoreUnknownFields: true });
  return toJson(SendMessageResponseSchema, reply(request));
}

const answer = process.argv[2] === "codec" ? codec : (body: string) => JSON.parse(body) && plain();

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
