import type { Message } from "@bufbuild/protobuf";
import type { AgentDirectory } from "../../card/agents.js";
import type { Call } from "../../core/call.js";
import { toA2AError } from "../../core/error.js";
import { mapStream, type StreamSteps } from "../../core/map-stream.js";
import { withoutBrackets } from "../../core/net.js";
import {
  agentAttributes,
  noteAnswer,
  noteError,
  noteMethod,
  noteRequest,
  noteSuccess,
  startAttributes,
} from "../../telemetry/a2a-attributes.js";
import { a2a, jsonRpc, rpc } from "../../telemetry/names.js";
import { iteratedIn, type TracedSpan, type Tracer } from "../../telemetry/tracer.js";
import type { Tracing } from "../../telemetry/tracing.js";
import { isSameSpan } from "../../telemetry/w3c.js";
import { type Invocation, type InvocationResult, type Invoke, isStream, type ServiceInterceptor } from "../invoke.js";

/**
 * Begins a span for each call, in whose context the call runs, and ends it with the answer: for a stream, with its end.
 * The call's trace then is that of the span.
 */
export function serverSpan(tracing: Tracing | undefined, agents: AgentDirectory): ServiceInterceptor {
  return (next) => (invocation) => {
    const tracer = tracing?.tracer;
    return tracer === undefined ? next(invocation) : traced(tracer, agents, next, invocation);
  };
}

/** Returns the span of a call; undefined if no spans are created. */
export function spanOf({ span }: Call): TracedSpan | undefined {
  // Core does not know its type. This file alone sets it.
  return span as TracedSpan | undefined;
}

function traced(
  tracer: Tracer,
  agents: AgentDirectory,
  next: Invoke,
  invocation: Invocation,
): Promise<InvocationResult> {
  const { call, method } = invocation;
  const parent = tracer.incoming((name) => call.header(name));
  const span = tracer.begin(method.name, { kind: "server", attributes: startAttributes(method), parent });
  const { traceParent, traceState } = span;
  // Without an SDK the span is the caller's own, whose header is passed on as it is.
  if (traceParent !== "" && !isSameSpan(traceParent, call.traceParent)) {
    call.traceParent = traceParent;
    call.traceState = traceState;
  }
  call.span = span;
  const watch = new CallSpan(span, invocation, agents);
  // No async function: an SDK's contexts make each promise expensive.
  try {
    return span.run(() => next(invocation)).then(watch.answered, watch.refused);
  } catch (error) {
    return watch.refused(error);
  }
}

/** Sets the attributes of a call's span while the call runs. */
class CallSpan implements StreamSteps<Message, Message> {
  readonly #span: TracedSpan;
  readonly #invocation: Invocation;
  readonly #agents: AgentDirectory;

  constructor(span: TracedSpan, invocation: Invocation, agents: AgentDirectory) {
    this.#span = span;
    this.#invocation = invocation;
    this.#agents = agents;
    if (!span.isRecording) return;
    noteMethod(span, invocation.method, invocation.call.binding);
    noteRequest(span, invocation.request);
  }

  /** Ends the span with an answer. A stream ends it later. */
  readonly answered = (answer: InvocationResult): InvocationResult => {
    if (isStream(answer)) return mapStream(iteratedIn(this.#span, answer), this);
    this.item(answer);
    this.done();
    this.end();
    return answer;
  };

  readonly refused = (error: unknown): never => {
    this.failed(error);
    this.end();
    throw error;
  };

  item(message: Message): Message {
    if (this.#span.isRecording) noteAnswer(this.#span, message);
    return message;
  }

  done(): void {
    noteSuccess(this.#span, this.#invocation.call.binding);
  }

  failed(error: unknown): unknown {
    noteError(this.#span, toA2AError(error), this.#invocation.call.binding, "server");
    return error;
  }

  /** Also called when the client leaves a stream, which is not an error. */
  end(): void {
    const { call } = this.#invocation;
    const span = this.#span;
    if (span.isRecording) {
      // A call that is refused early has only the version that its path or method implies.
      span.set(a2a.version, call.version === "" ? call.impliedVersion : call.version);
      span.set(a2a.tenant, call.tenant);
      const served = this.#agents.resolve(call.tenant);
      if (served !== undefined) span.setAll(agentAttributes(served.card));
      const { jsonRpcId } = call;
      if (typeof jsonRpcId === "number" || typeof jsonRpcId === "string")
        span.set(jsonRpc.requestId, `${jsonRpcId}`.slice(0, 256));
      const { address, port } = call.peer;
      span.set(rpc.clientAddress, address);
      span.set(rpc.clientPort, port);
      noteServer(span, call);
    }
    span.end();
  }
}

/** Sets the host that the client named in `:authority` (HTTP/2) or `Host`. */
function noteServer(span: TracedSpan, call: Call): void {
  const host = call.header(":authority") ?? call.header("host") ?? "";
  const [, name, port] = /^([\w.-]{1,253}|\[[\da-f:.]+\])(?::(\d{1,5}))?$/i.exec(host) ?? [];
  if (name === undefined) return;
  span.set(rpc.serverAddress, withoutBrackets(name));
  if (port !== undefined) span.set(rpc.serverPort, Number(port));
}
