import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { Binding } from "../../client/discovery/interfaces.js";
import type { HttpAnswer, HttpAsk, Platform } from "../../client/platform.js";
import { mapStream } from "../../core/map-stream.js";
import { messageIn } from "../../core/members.js";
import { withoutSecrets } from "../../core/net.js";
import { observed } from "../../examine/wire.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { essenceOf, isGrpcType, isGrpcWebType } from "../../wire/media-type.js";
import type { Output } from "./output.js";

/** Maximum characters of a body in a report. */
const MAX_BODY = 64 * 1024;

/**
 * Reports each exchange over HTTP on stderr: names of headers, and bodies. Values of headers are never shown.
 *
 * @param options.hasBodies false for exchanges whose bodies are secret
 */
export function debugPlatform(
  out: Output,
  platform: Platform,
  { hasBodies = true }: { readonly hasBodies?: boolean } = {},
): Platform {
  return {
    ...platform,
    http: async (ask: HttpAsk) => {
      const startedAt = performance.now();
      const names = [...ask.headers].map(([name]) => name).join(", ");
      out.note(`debug: > ${ask.method} ${withoutSecrets(ask.url)} (${names})`);
      if (ask.body !== undefined && hasBodies) out.note(`debug: > ${cut(String(Buffer.from(ask.body)))}`);
      try {
        const answer = await platform.http(ask);
        const took = Math.round(performance.now() - startedAt);
        out.note(`debug: < ${answer.status} after ${took} ms (${[...answer.headers.keys()].join(", ")})`);
        return hasBodies ? reported(out, answer) : answer;
      } catch (error) {
        out.note(`debug: < failed: ${messageIn(error)}`);
        throw error;
      }
    },
  };
}

function reported(out: Output, answer: HttpAnswer): HttpAnswer {
  const decoder = new TextDecoder();
  let rest = "";
  // By lines, since a credential may be divided between two chunks.
  const note = (chunk: Uint8Array): void => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") out.note(`debug: < ${cut(line)}`);
  };
  return observed(answer, { text: (text) => out.note(`debug: < ${cut(text)}`), chunk: note });
}

/** Reports the messages of bindings in binary form as JSON. It runs before credentials are added. */
export function debugInterceptor(out: Output): Interceptor {
  return (next) => async (request) => {
    const binding = binaryBinding(request.header.get("content-type") ?? "");
    if (binding === undefined) return next(request);
    const { method } = request;
    out.note(`debug: > ${binding} ${method.name} (${[...request.header.keys()].join(", ")})`);
    const sent = (message: Message): Message => noted(out, ">", method.input, message);
    const received = (message: Message): Message => noted(out, "<", method.output, message);
    try {
      const response = await next(
        request.stream
          ? { ...request, message: mapStream(request.message, { item: sent }) }
          : { ...request, message: sent(request.message) },
      );
      if (response.stream) return { ...response, message: mapStream(response.message, { item: received }) };
      received(response.message);
      return response;
    } catch (error) {
      out.note(`debug: < failed: ${messageIn(error)}`);
      throw error;
    }
  };
}

/** Returns the binding of a media type in binary form. */
function binaryBinding(type: string): Binding | undefined {
  if (isGrpcWebType(type)) return "GRPC-WEB";
  if (isGrpcType(type)) return "GRPC";
  return essenceOf(type).endsWith("proto") ? "CONNECT" : undefined;
}

function noted(out: Output, direction: string, desc: DescMessage, message: Message): Message {
  out.note(`debug: ${direction} ${cut(jsonWriter(desc)(message))}`);
  return message;
}

function cut(text: string): string {
  return text.length <= MAX_BODY ? text : `${text.slice(0, MAX_BODY)}… (${text.length - MAX_BODY} characters more)`;
}
