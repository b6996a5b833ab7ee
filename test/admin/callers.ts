import { create, type DescMethod, fromBinary, getOption, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import { type CallOptions, Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { http } from "../../gen/google/api/annotations_pb.js";

/** The outcome of a call: the name of a code of `google.rpc.Code`, and the text of the error. */
export interface Outcome {
  readonly code: string;
  readonly text: string;
  readonly messages: readonly Message[];
}

/** Calls a method of any service over one binding, with generated descriptors alone. */
export interface Caller {
  call(
    method: DescMethod,
    fields?: Record<string, unknown>,
    headers?: Readonly<Record<string, string>>,
    /** Maximum duration of a stream, in milliseconds. */
    streamMs?: number,
  ): Promise<Outcome>;
  close(): void;
}

/** Maximum duration of a call or of a stream that the server ends, in milliseconds. It allows for a busy machine. */
export const PATIENCE_MS = 10_000;

/** Deadline of a stream that follows changes, in milliseconds. */
const FOLLOWING_MS = 400;

/** The bindings, each opened at an address such as `127.0.0.1:8081`. */
export const bindings: Readonly<Record<"grpc" | "connect" | "grpc-web" | "rest", (address: string) => Caller>> = {
  grpc: grpcCaller,
  connect: (address) => connectCaller(createConnectTransport({ baseUrl: `http://${address}`, httpVersion: "2" })),
  "grpc-web": (address) => connectCaller(createGrpcWebTransport({ baseUrl: `http://${address}`, httpVersion: "1.1" })),
  rest: restCaller,
};

/** Connect over HTTP/1.1, for servers that embed Parley. */
export function connectOverHttp1(address: string): Caller {
  return connectCaller(createConnectTransport({ baseUrl: `http://${address}`, httpVersion: "1.1" }));
}

/** gRPC, by grpc-js. */
function grpcCaller(address: string): Caller {
  const client = new Client(address, credentials.createInsecure());
  const bytes = (value: Buffer): Buffer => value;
  return {
    call: (method, fields = {}, headers = {}, streamMs = FOLLOWING_MS) =>
      new Promise((resolve) => {
        const metadata = new Metadata();
        for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
        const request = Buffer.from(toBinary(method.input, create(method.input, fields)));
        const path = `/${method.parent.typeName}/${method.name}`;
        const options = { deadline: Date.now() + PATIENCE_MS };
        const ended = (error: Partial<ServiceError>, messages: Message[] = []): void =>
          resolve({ code: status[error.code ?? 0] ?? "", text: error.details ?? "", messages });
        if (method.methodKind === "unary") {
          client.makeUnaryRequest<Buffer, Buffer>(path, bytes, bytes, request, metadata, options, (error, value) => {
            ended(error ?? { code: 0 }, value && [fromBinary(method.output, value)]);
          });
          return;
        }
        const stream = client.makeServerStreamRequest<Buffer, Buffer>(path, bytes, bytes, request, metadata, {
          deadline: Date.now() + streamMs,
        });
        const messages: Message[] = [];
        stream.on("data", (value: Buffer) => messages.push(fromBinary(method.output, value)));
        stream.on("error", () => {});
        stream.on("status", (end) => ended(end, messages));
      }),
    close: () => client.close(),
  };
}

/** Connect and gRPC-Web, by Connect's client. */
function connectCaller(transport: Transport): Caller {
  return {
    call: async (method, fields = {}, headers = {}, streamMs = FOLLOWING_MS) => {
      const messages: Message[] = [];
      const options: CallOptions = { headers, timeoutMs: method.methodKind === "unary" ? PATIENCE_MS : streamMs };
      const { signal, timeoutMs } = options;
      try {
        if (method.methodKind === "unary") {
          const unary = method as DescMethod & { methodKind: "unary" };
          const answer = await transport.unary(unary, signal, timeoutMs, headers, create(method.input, fields));
          messages.push(answer.message);
        } else {
          const request = create(method.input, fields);
          const streaming = method as DescMethod & { methodKind: "server_streaming" };
          const requests = (async function* () {
            yield request;
          })();
          const answer = await transport.stream(streaming, signal, timeoutMs, headers, requests);
          for await (const message of answer.message) messages.push(message);
        }
        return { code: "OK", text: "", messages };
      } catch (error) {
        const { code, rawMessage } = ConnectError.from(error);
        return { code: nameOf(Code[code] ?? ""), text: rawMessage, messages };
      }
    },
    close: () => {},
  };
}

/** `InvalidArgument` as `INVALID_ARGUMENT`; Connect spells one name with one `l`. */
function nameOf(code: string): string {
  const name = code.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return name === "CANCELED" ? "CANCELLED" : name;
}

/** REST, from the `google.api.http` rule alone. */
function restCaller(address: string): Caller {
  return {
    call: async (method, fields = {}, headers = {}, streamMs = FOLLOWING_MS) => {
      const { verb, url, body } = restRequest(method, fields);
      const signal = AbortSignal.timeout(method.methodKind === "unary" ? PATIENCE_MS : streamMs);
      try {
        const answer = await fetch(`http://${address}${url}`, {
          method: verb,
          headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
          body: body ?? null,
          signal,
        });
        const text = await answer.text();
        return { code: answer.ok ? "OK" : codeIn(text, answer.status), text, messages: [] };
      } catch (error) {
        if (signal.aborted) return { code: "DEADLINE_EXCEEDED", text: "", messages: [] };
        throw error;
      }
    },
    close: () => {},
  };
}

interface RestRequest {
  readonly verb: string;
  readonly url: string;
  readonly body: string | undefined;
}

function restRequest(method: DescMethod, fields: Record<string, unknown>): RestRequest {
  const rule = getOption(method, http);
  const { case: verb, value: template } = rule.pattern;
  if (verb === undefined || verb === "custom") throw new Error(`${method.name} has no http rule`);
  const json = toJson(method.input, create(method.input, fields)) as Record<string, string>;
  const path = template.replace(/\{(\w+)=\*\}/g, (_, name: string) => {
    const jsonName = method.input.fields.find((field) => field.name === name)?.jsonName ?? name;
    const value = json[jsonName] ?? "";
    delete json[jsonName];
    return encodeURIComponent(value);
  });
  const hasBody = rule.body === "*";
  const query = hasBody ? "" : new URLSearchParams(json).toString();
  return {
    verb: verb.toUpperCase(),
    url: query === "" ? path : `${path}?${query}`,
    body: hasBody ? JSON.stringify(json) : undefined,
  };
}

/** The code in an error's body. REST answers UNIMPLEMENTED with NOT_FOUND, so the reason decides. */
function codeIn(text: string, httpStatus: number): string {
  if (/"reason":"METHOD_NOT_(FOUND|ALLOWED)"/.test(text)) return "UNIMPLEMENTED";
  return /"status":"([A-Z_]+)"/.exec(text)?.[1] ?? `HTTP ${httpStatus}`;
}
