import type { Message } from "@bufbuild/protobuf";
import type { Interceptor, StreamResponse } from "@connectrpc/connect";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { mapStream } from "../core/map-stream.js";
import {
  agentAttributes,
  noteAnswer,
  noteError,
  noteMethod,
  noteRequest,
  noteSuccess,
  startAttributes,
} from "../telemetry/a2a-attributes.js";
import { isApi, type TelemetryOption } from "../telemetry/choice.js";
import { a2a, rpc } from "../telemetry/names.js";
import { iteratedIn, type TracedSpan, Tracer } from "../telemetry/tracer.js";
import type { Candidate } from "./discovery/interfaces.js";
import { clientError } from "./errors/errors.js";

/** Returns an interceptor that begins a span for each attempt of a call, and sends its context with the call. */
export type ClientSpans = (candidate: Candidate, card: AgentCard) => Interceptor;

/** Creates the spans of a client. @param api the module `@opentelemetry/api` @throws TypeError for another value */
export function clientSpans(api: TelemetryOption): ClientSpans {
  if (!isApi(api)) throw new TypeError("telemetry has to be false or the module @opentelemetry/api here");
  const tracer = new Tracer(api);
  return ({ binding: name, url, version }, card) => {
    const binding = name === "HTTP+JSON" ? "rest" : name.toLowerCase();
    const { hostname, port, protocol } = new URL(url);
    const fixed = {
      ...agentAttributes(card),
      [a2a.version]: version,
      [rpc.serverAddress]: hostname,
      [rpc.serverPort]: Number(port) || (protocol === "https:" ? 443 : 80),
    };
    return (next) => async (request) => {
      const { header, method } = request;
      const span = tracer.begin(method.name, {
        kind: "client",
        attributes: startAttributes(method),
        parent: tracer.active ?? sentWith(tracer, header),
      });
      tracer.inject(span.context, (key, value) => header.set(key, value));
      if (span.isRecording) {
        noteMethod(span, method, binding);
        span.setAll(fixed);
      }
      const note = (message: Message): Message => {
        if (span.isRecording) noteRequest(span, message);
        return message;
      };
      try {
        const asked = request.stream
          ? { ...request, message: mapStream(request.message, { item: note }) }
          : { ...request, message: note(request.message) };
        const response = await span.run(() => next(asked));
        if (response.stream) return { ...response, message: tracedAnswer(span, response, binding) };
        if (span.isRecording) noteAnswer(span, response.message);
        noteSuccess(span, binding);
        span.end();
        return response;
      } catch (error) {
        failSpan(span, error, binding);
        throw error;
      }
    };
  };
}

/** Ends the span with the stream. A reader that leaves the stream is not an error. */
function tracedAnswer(span: TracedSpan, { message }: StreamResponse, binding: string): AsyncIterable<Message> {
  return mapStream(iteratedIn(span, message), {
    item: (event) => {
      if (span.isRecording) noteAnswer(span, event);
      return event;
    },
    done: () => noteSuccess(span, binding),
    failed: (error) => {
      failSpan(span, error, binding);
      return error;
    },
    end: () => span.end(),
  });
}

function failSpan(span: TracedSpan, error: unknown, binding: string): void {
  noteError(span, clientError(error), binding, "client");
  span.end();
}

/** Context of the `traceparent` that the caller has given, where the runtime does not know which code calls. */
function sentWith(tracer: Tracer, header: Headers): ReturnType<Tracer["remote"]> {
  const traceParent = header.get("traceparent") ?? "";
  return tracer.remote({ traceParent, traceState: header.get("tracestate") ?? "" });
}
