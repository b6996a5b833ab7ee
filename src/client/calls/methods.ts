import type { DescMethodStreaming, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { type CallOptions, type Client, makeAnyClient, type Transport } from "@connectrpc/connect";
import {
  A2AService,
  type SendMessageRequestSchema,
  type StreamResponseSchema,
  type Task,
  TaskSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { CallScope } from "./call-scope.js";
import { checkRequest } from "./check.js";
import { checkOptions, methodChecks } from "./check-options.js";
import { requestMessages } from "./failover.js";

type Streaming = DescMethodStreaming<typeof SendMessageRequestSchema, typeof StreamResponseSchema>;
type Events = AsyncIterable<MessageShape<typeof StreamResponseSchema>>;

/**
 * Creates the protocol's methods over a transport, like Connect's `createClient`. Unlike there, leaving the loop over a
 * stream ends the call.
 */
export function callsOver(transport: Transport): Client<typeof A2AService> {
  return makeAnyClient(A2AService, (method) =>
    method.methodKind === "unary" ? unaryOver(transport, method) : streamOver(transport, method as Streaming),
  ) as Client<typeof A2AService>;
}

function unaryOver(transport: Transport, method: DescMethodUnary) {
  return async (input: MessageInitShape<typeof method.input>, options?: CallOptions) => {
    checkOptions(options, methodChecks);
    checkRequest(method.input, input);
    const { signal, timeoutMs, headers, contextValues } = options ?? {};
    const response = await transport.unary(method, signal, timeoutMs, headers, input, contextValues);
    options?.onHeader?.(response.header);
    options?.onTrailer?.(response.trailer);
    if (method.output === TaskSchema) checkTask(response.message as Partial<Task>, input as { id?: string });
    return response.message;
  };
}

/** Rejects another task than the requested one, and JSON that has no task. */
function checkTask(task: Partial<Task>, { id }: { readonly id?: string }): void {
  if (task.id !== id) throw new A2AError("INVALID_AGENT_RESPONSE", `The answer is not the task ${id}.`);
}

function streamOver(transport: Transport, method: Streaming) {
  return (input: MessageInitShape<Streaming["input"]>, options?: CallOptions): Events => {
    checkOptions(options, methodChecks);
    checkRequest(method.input, input);
    return { [Symbol.asyncIterator]: () => events(transport, method, input, options ?? {}) };
  };
}

async function* events(
  transport: Transport,
  method: Streaming,
  input: MessageInitShape<Streaming["input"]>,
  { signal, timeoutMs, headers, contextValues, onHeader, onTrailer }: CallOptions,
): AsyncGenerator<MessageShape<Streaming["output"]>, void, undefined> {
  const scope = new CallScope(signal);
  try {
    const asked = requestMessages([input]);
    const response = await transport.stream(method, scope.signal, timeoutMs, headers, asked, contextValues);
    onHeader?.(response.header);
    yield* response.message;
    onTrailer?.(response.trailer);
  } finally {
    scope.close();
  }
}
