/** The floors of gRPC and Connect: a bare echo over grpc-js with the codecs of protobuf-es, and over connect-node. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import {
  A2AService,
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

/** The bytes themselves, not a copy. */
const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function reply({ message }: SendMessageRequest): SendMessageResponse {
  const content = message?.parts[0]?.content;
  const value: MessageInitShape<typeof SendMessageResponseSchema>["payload"] = {
    case: "message",
    value: {
      messageId: newId(),
      contextId: message?.contextId || newId(),
      role: Role.AGENT,
      parts: [{ content: { case: "text", value: replyTo(content?.case === "text" ? content.value : "") } }],
    },
  };
  return create(SendMessageResponseSchema, { payload: value });
}

async function grpc(): Promise<number> {
  const { sendMessage } = A2AService.method;
  const definition = {
    send: {
      path: `/${A2AService.typeName}/${sendMessage.name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: (message: SendMessageRequest) => viewOf(toBinary(SendMessageRequestSchema, message)),
      requestDeserialize: (bytes: Buffer) => fromBinary(SendMessageRequestSchema, bytes),
      responseSerialize: (message: SendMessageResponse) => viewOf(toBinary(SendMessageResponseSchema, message)),
      responseDeserialize: (bytes: Buffer) => fromBinary(SendMessageResponseSchema, bytes),
    },
  } as const;
  const send: handleUnaryCall<SendMessageRequest, SendMessageResponse> = (call, callback) =>
    callback(null, reply(call.request));
  const server = new Server();
  server.addService(definition, { send });
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, port: number): void => (error === null ? resolve(port) : reject(error));
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
  });
}

async function connect(): Promise<number> {
  const routes = (router: ConnectRouter): ConnectRouter => router.rpc(A2AService.method.sendMessage, reply);
  const server = createServer(connectNodeAdapter({ routes }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

serve({ http: await connect(), grpc: await grpc() });
